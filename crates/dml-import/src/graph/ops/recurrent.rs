//! Recurrent networks of one layer: RNN, LSTM and GRU. Networks that DirectML's operators cannot express are
//! composed of operators for each step ([`steps`]).

mod cell;
mod steps;
mod weights;

use dml_core::operators::{GruDesc, LstmDesc, RnnDesc};
use dml_core::{AbstractOperator, DataType, RecurrentNetworkDirection, TensorDesc};

use crate::element::ElementType;
use crate::error::{Error, Result};
use crate::graph::ops::body::slices;
use crate::graph::ops::packed::by_strides_all;
use crate::graph::ops::{NodeInputs, Op};
use crate::graph::value::{Kind, Value};
use crate::tensor::text;

/// A recurrent layer. Outputs are the hidden states of all steps, and the last states.
#[derive(Debug)]
pub(crate) struct Recurrent {
    pub(crate) cell: Cell,
    pub(crate) direction: RecurrentNetworkDirection,
    /// The activation functions of each direction.
    pub(crate) functions: Vec<AbstractOperator>,
    /// The magnitude to which inputs of activation functions are clamped.
    pub(crate) clip: Option<f32>,
    /// Whether weights are transposed integers, with scales and zero points after the other inputs.
    pub(crate) is_quantized: bool,
    /// Whether the first dimension is the batch rather than the step.
    pub(crate) is_batch_first: bool,
    pub(crate) outputs: usize,
}

/// The kind of cell, with its own attributes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cell {
    Simple,
    Gated { linear_before_reset: bool },
    LongShortTerm { couple_input_forget: bool },
}

impl Cell {
    /// The number of gates.
    fn gates(self) -> u64 {
        match self {
            Self::Simple => 1,
            Self::Gated { .. } => 3,
            Self::LongShortTerm { .. } => 4,
        }
    }
}

/// The sizes of a network.
#[derive(Clone, Copy)]
struct Sizes {
    steps: u64,
    batches: u64,
    elements: u64,
    directions: u64,
    hidden: u64,
    /// The columns of all gates together.
    width: u64,
}

impl Sizes {
    fn is_without_steps(self) -> bool {
        [self.steps, self.batches, self.hidden].contains(&0)
    }
}

impl Op for Recurrent {
    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let given = operands.value(0, "X")?;
        let is_turned = self.is_batch_first && given.shape()?.len() == 3;
        let input = if is_turned { given.transposed(&[1, 0, 2]) } else { given.clone() };
        let sizes = self.sizes(operands, input.shape()?)?;
        let written = match self.cell {
            _ if sizes.is_without_steps() => self.of_no_steps(operands, input.element()?, sizes)?,
            Cell::LongShortTerm { .. } if !self.is_quantized => {
                self.by_operator(operands, &input, sizes)?
            }
            _ if self.clip.is_none() && !self.is_quantized => {
                self.by_operator(operands, &input, sizes)?
            }
            _ => self.by_steps(operands, &input, sizes)?,
        };
        Ok(match self.is_batch_first {
            false => written,
            true => {
                let orders: [&[usize]; 3] = [&[2, 0, 1, 3], &[1, 0, 2], &[1, 0, 2]];
                written.iter().zip(orders).map(|(it, order)| it.transposed(order)).collect()
            }
        })
    }
}

impl Recurrent {
    /// The sizes of the network, from the shape of X, steps first, and from R.
    fn sizes(&self, operands: &NodeInputs<'_>, shape: &[u64]) -> Result<Sizes> {
        let recurrence = operands.shape(2, "R")?;
        let ([steps, batches, elements], [directions, _, _]) = (shape, recurrence) else {
            let shapes = format!("{} and {}", text(operands.shape(0, "X")?), text(recurrence));
            let (problem, accepted) = ("are the wrong shapes", "three dimensions each");
            return Err(operands.node.invalid("X and R", shapes, problem, accepted));
        };
        let hidden = if self.is_quantized { recurrence[1] } else { recurrence[2] };
        let [steps, batches, elements, directions] = [*steps, *batches, *elements, *directions];
        let wanted = if self.direction == RecurrentNetworkDirection::Bidirectional { 2 } else { 1 };
        if directions != wanted {
            let (problem, accepted) = ("is the wrong number of directions", wanted.to_string());
            return Err(operands.node.invalid("R", directions, problem, accepted));
        }
        let width = self.cell.gates().saturating_mul(hidden);
        let sizes = Sizes { steps, batches, elements, directions, hidden, width };
        if elements == 0 && !sizes.is_without_steps() {
            return Err(operands.node.not_supported("steps have no elements"));
        }
        Ok(sizes)
    }

    /// The outputs of a network without steps: its last states are the initial ones.
    fn of_no_steps(
        &self,
        operands: &NodeInputs<'_>,
        element: ElementType,
        sizes: Sizes,
    ) -> Result<Vec<Value>> {
        let Sizes { steps, batches, directions, hidden, .. } = sizes;
        let zeros = |shape: &[u64]| Value::fill(Kind { element, shape: shape.into() }, 0);
        let last = |index: usize, name: &str| -> Result<Value> {
            let given = self.state(operands, index, name, sizes)?;
            Ok(given.unwrap_or_else(|| zeros(&[directions, batches, hidden])))
        };
        let mut outputs = vec![zeros(&[steps, directions, batches, hidden]), last(5, "initial_h")?];
        if matches!(self.cell, Cell::LongShortTerm { .. }) {
            outputs.push(last(6, "initial_c")?);
        }
        Ok(outputs)
    }

    /// An optional input, which must have this shape.
    fn given(
        &self,
        operands: &NodeInputs<'_>,
        index: usize,
        name: &str,
        shape: &[u64],
    ) -> Result<Option<Value>> {
        let Some(value) = operands.optional(index) else { return Ok(None) };
        let given = value.shape()?;
        if given != shape {
            return Err(operands.node.invalid(
                name,
                text(given),
                "is the wrong shape",
                text(shape),
            ));
        }
        Ok(Some(value.clone()))
    }

    /// The initial states, `[directions, batches, hidden]`.
    fn state(
        &self,
        operands: &NodeInputs<'_>,
        index: usize,
        name: &str,
        sizes: Sizes,
    ) -> Result<Option<Value>> {
        let Sizes { directions, batches, hidden, .. } = sizes;
        match self.is_batch_first {
            false => self.given(operands, index, name, &[directions, batches, hidden]),
            true => {
                let state = self.given(operands, index, name, &[batches, directions, hidden])?;
                Ok(state.map(|state| state.transposed(&[1, 0, 2])))
            }
        }
    }

    /// Adds DirectML's operator.
    fn by_operator(
        &self,
        operands: &NodeInputs<'_>,
        input: &Value,
        sizes: Sizes,
    ) -> Result<Vec<Value>> {
        let Sizes { steps, batches, elements, directions, hidden, width } = sizes;
        let element = input.element()?;
        let seen = |value: Option<Value>| value.map(|value| in_four(operands, &value)).transpose();
        let given =
            |index, name: &str, shape: &[u64]| seen(self.given(operands, index, name, shape)?);
        let state = |index, name: &str| seen(self.state(operands, index, name, sizes)?);
        let lengths = given(4, "sequence_lens", &[batches])?.map(|it| Value {
            // Negative lengths, seen as unsigned, are longer than the sequence, so all steps count.
            element: Some(ElementType::Dml(DataType::Uint32)),
            ..it
        });
        let mut inputs = vec![
            Some(operands.reshaped(input, &[1, steps, batches, elements])?),
            given(1, "W", &[directions, width, elements])?,
            given(2, "R", &[directions, width, hidden])?,
            given(3, "B", &[directions, 2 * width])?,
            state(5, "initial_h")?,
        ];
        let is_long = matches!(self.cell, Cell::LongShortTerm { .. });
        if is_long {
            inputs.push(state(6, "initial_c")?);
        }
        inputs.push(lengths);
        if is_long {
            inputs.push(given(7, "P", &[directions, 3 * hidden])?);
        }
        let of_states = [1, directions, batches, hidden];
        let all = [[steps, directions, batches, hidden], of_states, of_states];
        let outputs = all.iter().take(self.outputs.max(1)).enumerate().map(|(at, seen)| {
            let shape = if at == 0 { seen.to_vec() } else { seen[1..].to_vec() };
            (Kind { element, shape: shape.into() }, &seen[..])
        });
        let build = |inputs, outputs| self.operator(inputs, outputs);
        by_strides_all(operands, &inputs, outputs.collect(), build)
    }

    /// The operator, with inputs and outputs in DirectML's order.
    fn operator(
        &self,
        inputs: Vec<Option<TensorDesc>>,
        outputs: Vec<TensorDesc>,
    ) -> Result<AbstractOperator> {
        let mut inputs = inputs.into_iter();
        let mut next = || inputs.next().flatten();
        let missing = || Error::malformed("an input of a recurrent network is missing");
        let required = |it: Option<TensorDesc>| it.ok_or_else(missing);
        let (input_tensor, weight_tensor) = (required(next())?, required(next())?);
        let (recurrence_tensor, bias_tensor) = (required(next())?, next());
        let hidden_init_tensor = next();
        let mut outputs = outputs.into_iter();
        let (output_sequence_tensor, output_single_tensor) = (outputs.next(), outputs.next());
        let (activation_descs, direction) = (self.functions.clone(), self.direction);
        Ok(match self.cell {
            Cell::Simple => RnnDesc {
                input_tensor,
                weight_tensor,
                recurrence_tensor,
                bias_tensor,
                hidden_init_tensor,
                sequence_lengths_tensor: next(),
                output_sequence_tensor,
                output_single_tensor,
                activation_descs,
                direction,
            }
            .into(),
            Cell::Gated { linear_before_reset } => GruDesc {
                input_tensor,
                weight_tensor,
                recurrence_tensor,
                bias_tensor,
                hidden_init_tensor,
                sequence_lengths_tensor: next(),
                output_sequence_tensor,
                output_single_tensor,
                activation_descs,
                direction,
                linear_before_reset,
            }
            .into(),
            Cell::LongShortTerm { couple_input_forget } => LstmDesc {
                input_tensor,
                weight_tensor,
                recurrence_tensor,
                bias_tensor,
                hidden_init_tensor,
                cell_mem_init_tensor: next(),
                sequence_lengths_tensor: next(),
                peephole_tensor: next(),
                output_sequence_tensor,
                output_single_tensor,
                output_cell_single_tensor: outputs.next(),
                activation_descs,
                direction,
                clip_threshold: self.clip.unwrap_or(0.0),
                use_clip_threshold: self.clip.is_some(),
                couple_input_forget,
            }
            .into(),
        })
    }
}

/// The value with leading dimensions of size 1 up to four dimensions.
fn in_four(operands: &NodeInputs<'_>, value: &Value) -> Result<Value> {
    let shape = value.shape()?;
    let ones = vec![1; 4_usize.saturating_sub(shape.len())];
    operands.reshaped(value, &[&ones, shape].concat())
}

/// The slice of a direction, which is the first dimension.
fn of_direction(operands: &NodeInputs<'_>, value: &Value, direction: usize) -> Result<Value> {
    let all = slices(operands, value, 0, false)?;
    let missing = || operands.node.not_supported("a direction is missing");
    all.get(direction).cloned().ok_or_else(missing)
}
