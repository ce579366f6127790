//! Recurrent networks of one layer: RNN, LSTM and GRU.

use dml_core::operators::{GruDesc, LstmDesc, RnnDesc};
use dml_core::{AbstractOperator, DataType, RecurrentNetworkDirection, TensorDesc};

use crate::element::ElementType;
use crate::error::{Error, Result};
use crate::graph::ops::packed::by_strides_all;
use crate::graph::ops::{Op, Operands};
use crate::graph::value::{Kind, Value};
use crate::tensor::text;

/// The input's sequences, the hidden states of their steps, and the last ones.
#[derive(Debug)]
pub(crate) struct Recurrent {
    pub(crate) cell: Cell,
    pub(crate) direction: RecurrentNetworkDirection,
    /// Those of each direction.
    pub(crate) functions: Vec<AbstractOperator>,
    /// Whether batches are the first dimension, and not steps.
    pub(crate) is_batch_first: bool,
    pub(crate) outputs: usize,
}

/// What an operator has of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cell {
    Simple,
    Gated { linear_before_reset: bool },
    LongShortTerm { clip: Option<f32>, couple_input_forget: bool },
}

impl Cell {
    /// How many gates' weights there are.
    fn gates(self) -> u64 {
        match self {
            Self::Simple => 1,
            Self::Gated { .. } => 3,
            Self::LongShortTerm { .. } => 4,
        }
    }
}

impl Op for Recurrent {
    fn evaluate(&self, operands: &Operands<'_>) -> Result<Vec<Value>> {
        let given = operands.value(0, "X")?;
        let input = if self.is_batch_first { given.transposed(&[1, 0, 2]) } else { given.clone() };
        let (element, shape) = (input.element()?, input.shape()?.to_vec());
        let recurrence = operands.shape(2, "R")?.to_vec();
        let ([steps, sequences, elements], [directions, _, hidden]) = (&shape[..], &recurrence[..])
        else {
            let shapes = format!("{} and {}", text(&shape), text(&recurrence));
            let (problem, accepted) = ("are the wrong shapes", "three dimensions each");
            return Err(operands.node.invalid("X and R", shapes, problem, accepted));
        };
        let (steps, sequences, directions, hidden) = (*steps, *sequences, *directions, *hidden);
        let width = self.cell.gates().saturating_mul(hidden);
        let states = [directions, sequences, hidden];
        if [steps, sequences, *elements, hidden].contains(&0) {
            return Err(operands.node.not_supported("there is nothing to go through"));
        }
        let seen = |index: usize, name: &str, shape: &[u64]| {
            operands.optional(index).map(|it| seen(operands, it, name, shape)).transpose()
        };
        let of_x = Some(operands.reshaped(&input, &[1, steps, sequences, *elements])?);
        let lengths = seen(4, "sequence_lens", &[sequences])?.map(|it| Value {
            // What is below 0 is as many steps as there are.
            element: Some(ElementType::Dml(DataType::Uint32)),
            ..it
        });
        let mut inputs = vec![
            of_x,
            seen(1, "W", &[directions, width, *elements])?,
            seen(2, "R", &[directions, width, hidden])?,
            seen(3, "B", &[directions, 2 * width])?,
            seen(5, "initial_h", &states)?,
        ];
        let is_long = matches!(self.cell, Cell::LongShortTerm { .. });
        if is_long {
            inputs.push(seen(6, "initial_c", &states)?);
        }
        inputs.push(lengths);
        if is_long {
            inputs.push(seen(7, "P", &[directions, 3 * hidden])?);
        }
        let of_states = [1, directions, sequences, hidden];
        let all = [[steps, directions, sequences, hidden], of_states, of_states];
        let outputs = all.iter().take(self.outputs.max(1)).enumerate().map(|(at, seen)| {
            let shape = if at == 0 { seen.to_vec() } else { seen[1..].to_vec() };
            (Kind { element, shape }, &seen[..])
        });
        let build = |inputs, outputs| self.operator(inputs, outputs);
        let written = by_strides_all(operands, &inputs, outputs.collect(), build)?;
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
    /// The inputs in DirectML's order, and the outputs that there are.
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
            Cell::LongShortTerm { clip, couple_input_forget } => LstmDesc {
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
                clip_threshold: clip.unwrap_or(0.0),
                use_clip_threshold: clip.is_some(),
                couple_input_forget,
            }
            .into(),
        })
    }
}

/// An input of this shape, in four dimensions.
fn seen(operands: &Operands<'_>, value: &Value, name: &str, shape: &[u64]) -> Result<Value> {
    let given = value.shape()?;
    if given != shape {
        return Err(operands.node.invalid(name, text(given), "is the wrong shape", text(shape)));
    }
    let ones = vec![1; 4_usize.saturating_sub(shape.len())];
    operands.reshaped(value, &[&ones, shape].concat())
}
