//! A recurrent network composed of operators for each step, in 32 bits.

use dml_core::{RecurrentNetworkDirection as Direction, ReduceFunction};
use smallvec::smallvec;

use crate::convert::from_integer;
use crate::element::ElementType;
use crate::error::Result;
use crate::graph::ops::arithmetic::{ADD, GREATER, WHERE};
use crate::graph::ops::body::{slices, stacked};
use crate::graph::ops::cast::cast;
use crate::graph::ops::element_wise::apply;
use crate::graph::ops::recurrent::cell::{Gates, Memory};
use crate::graph::ops::recurrent::{Cell, Recurrent, Sizes, of_direction};
use crate::graph::ops::reduce::reduced;
use crate::graph::ops::sequences::ReverseSequence;
use crate::graph::ops::split::parts;
use crate::graph::ops::table::numbers;
use crate::graph::ops::{NodeInputs, Op};
use crate::graph::value::{Kind, Value};

const FLOAT: ElementType = ElementType::FLOAT32;

/// The outputs of one direction.
struct DirectionOutputs {
    /// The hidden state after each step, 0 beyond a sequence's end: `[steps, batches, hidden]`.
    states: Value,
    last: Memory,
}

impl Recurrent {
    /// The outputs of all directions.
    pub(super) fn by_steps(
        &self,
        operands: &NodeInputs<'_>,
        input: &Value,
        sizes: Sizes,
    ) -> Result<Vec<Value>> {
        let element = input.element()?;
        let input = cast(operands, input, FLOAT)?;
        let lengths = self.lengths(operands, sizes)?;
        let count = usize::try_from(sizes.directions).unwrap_or(1);
        let mut states = vec![];
        let mut last = [vec![], vec![]];
        for direction in 0..count {
            let found = self.direction(operands, &input, lengths.as_ref(), sizes, direction)?;
            states.push(found.states);
            last[0].push(found.last.state);
            last[1].extend(found.last.cell);
        }
        let mut outputs = vec![stacked(operands, &states, 1, "Y")?];
        for all in last.iter().filter(|all| !all.is_empty()) {
            outputs.push(stacked(operands, all, 0, "Y")?);
        }
        outputs.iter().map(|value| cast(operands, value, element)).collect()
    }

    fn has_cell(&self) -> bool {
        matches!(self.cell, Cell::LongShortTerm { .. })
    }

    /// The number of steps of each sequence, as a column.
    fn lengths(&self, operands: &NodeInputs<'_>, sizes: Sizes) -> Result<Option<Value>> {
        let lengths = self.given(operands, 4, "sequence_lens", &[sizes.batches])?;
        lengths.map(|length| operands.reshaped(&length, &[sizes.batches, 1])).transpose()
    }

    /// Processes the steps of one direction.
    fn direction(
        &self,
        operands: &NodeInputs<'_>,
        input: &Value,
        lengths: Option<&Value>,
        sizes: Sizes,
        direction: usize,
    ) -> Result<DirectionOutputs> {
        let gates = self.gates(operands, sizes, direction)?;
        let is_backward = self.direction == Direction::Backward || direction == 1;
        let mut inputs = self.fed(operands, input, lengths, sizes, direction)?;
        if is_backward {
            inputs = reversed(operands, &inputs, lengths)?;
        }
        let initial = self.initial(operands, sizes, direction)?;
        let (mut memory, mut last) = (initial.clone(), initial);
        let mut states = vec![];
        for (step, fed) in slices(operands, &inputs, 0, false)?.iter().enumerate() {
            let next = gates.step(operands, fed, &memory)?;
            (memory, last) = match lengths {
                None => (next.clone(), next),
                Some(lengths) => {
                    let is_there = has_step(operands, lengths, step)?;
                    let state = chosen(operands, &is_there, &next.state, None)?;
                    let last = next.chosen(operands, &is_there, last)?;
                    (Memory { state, cell: last.cell.clone() }, last)
                }
            };
            states.push(memory.state.clone());
        }
        let mut states = stacked(operands, &states, 0, "Y")?;
        if is_backward {
            states = reversed(operands, &states, lengths)?;
        }
        // ONNX Runtime's quantized network gives zeros as the last state of a sequence without steps.
        if let Some(lengths) = lengths.filter(|_| self.is_quantized) {
            let is_there = has_step(operands, lengths, 0)?;
            let kept = |value: &Value| chosen(operands, &is_there, value, None);
            last = Memory {
                state: kept(&last.state)?,
                cell: last.cell.as_ref().map(kept).transpose()?,
            };
        }
        Ok(DirectionOutputs { states, last })
    }

    /// The input's contribution to all gates, including biases, by steps and batches.
    fn fed(
        &self,
        operands: &NodeInputs<'_>,
        input: &Value,
        lengths: Option<&Value>,
        sizes: Sizes,
        direction: usize,
    ) -> Result<Value> {
        let Sizes { steps, batches, elements, directions, width, .. } = sizes;
        let shape = [directions, elements, width];
        let weights = self.weights(operands, (1, "W"), shape, direction)?;
        let input = match lengths.filter(|_| self.is_quantized) {
            Some(lengths) => without_rest(operands, input, lengths, steps)?,
            None => input.clone(),
        };
        let rows = operands.reshaped(&input, &[steps.saturating_mul(batches), elements])?;
        let mut fed = weights.multiply(operands, &rows)?;
        if let Some([own, recurrent]) = self.biases(operands, sizes, direction)? {
            fed = apply(operands, ADD, &[fed, own])?;
            if !self.is_linear_before_reset() {
                fed = apply(operands, ADD, &[fed, recurrent])?;
            }
        }
        operands.reshaped(&fed, &[steps, batches, width])
    }

    fn gates(&self, operands: &NodeInputs<'_>, sizes: Sizes, direction: usize) -> Result<Gates> {
        let Sizes { directions, hidden, width, .. } = sizes;
        let shape = [directions, hidden, width];
        let weights = self.weights(operands, (2, "R"), shape, direction)?;
        let weights = match self.cell {
            Cell::Gated { linear_before_reset: false } => {
                weights.split(operands, [2 * hidden, hidden])?
            }
            _ => vec![weights],
        };
        let bias = match self.is_linear_before_reset() {
            true => self.biases(operands, sizes, direction)?.map(|[_, recurrent]| recurrent),
            false => None,
        };
        let peepholes = match self.has_cell() {
            true => self.of(
                operands,
                self.given(operands, 7, "P", &[directions, 3 * hidden])?,
                direction,
            )?,
            false => None,
        };
        let count = self.functions.len() / usize::try_from(directions).unwrap_or(1).max(1);
        let functions = self.functions.iter().skip(direction * count).take(count).cloned();
        let (cell, clip) = (self.cell, self.clip);
        Ok(Gates { cell, weights, bias, peepholes, functions: functions.collect(), clip, hidden })
    }

    fn is_linear_before_reset(&self) -> bool {
        matches!(self.cell, Cell::Gated { linear_before_reset: true })
    }

    /// The biases of the input's products, and of the state's.
    fn biases(
        &self,
        operands: &NodeInputs<'_>,
        sizes: Sizes,
        direction: usize,
    ) -> Result<Option<[Value; 2]>> {
        let Sizes { directions, width, .. } = sizes;
        let given = self.given(operands, 3, "B", &[directions, 2 * width])?;
        let Some(biases) = self.of(operands, given, direction)? else { return Ok(None) };
        Ok(<[Value; 2]>::try_from(parts(operands, &biases, 0, &[width, width])?).ok())
    }

    /// The initial states; 0 if not given.
    fn initial(&self, operands: &NodeInputs<'_>, sizes: Sizes, direction: usize) -> Result<Memory> {
        let state = |index, name| {
            let given = self.state(operands, index, name, sizes)?;
            let zeros = || {
                Value::fill(
                    Kind { element: FLOAT, shape: smallvec![sizes.batches, sizes.hidden] },
                    0,
                )
            };
            Ok(self.of(operands, given, direction)?.unwrap_or_else(zeros))
        };
        let cell = if self.has_cell() { Some(state(6, "initial_c")?) } else { None };
        Ok(Memory { state: state(5, "initial_h")?, cell })
    }

    /// The slice of a direction, as FLOAT32.
    fn of(
        &self,
        operands: &NodeInputs<'_>,
        value: Option<Value>,
        direction: usize,
    ) -> Result<Option<Value>> {
        let Some(value) = value else { return Ok(None) };
        cast(operands, &of_direction(operands, &value, direction)?, FLOAT).map(Some)
    }
}

/// Each sequence with its steps in reverse order.
fn reversed(operands: &NodeInputs<'_>, value: &Value, lengths: Option<&Value>) -> Result<Value> {
    let Some(lengths) = lengths else {
        return stacked(operands, &slices(operands, value, 0, true)?, 0, "X");
    };
    let lengths = cast(operands, lengths, ElementType::INT64)?;
    let lengths = operands.reshaped(&lengths, &[value.shape()?[1]])?;
    let both = NodeInputs { values: vec![Some(value), Some(&lengths)], ..*operands };
    Ok(ReverseSequence { batch_axis: 1, time_axis: 0 }.evaluate(&both)?.remove(0))
}

impl Memory {
    /// Selects this memory where the condition holds, and `other` elsewhere.
    fn chosen(&self, operands: &NodeInputs<'_>, condition: &Value, other: Self) -> Result<Self> {
        let cell = match (&self.cell, other.cell) {
            (Some(cell), Some(other)) => Some(chosen(operands, condition, cell, Some(&other))?),
            (cell, _) => cell.clone(),
        };
        Ok(Self { state: chosen(operands, condition, &self.state, Some(&other.state))?, cell })
    }
}

/// The input with zeros in steps beyond the longest sequence, so that they do not affect quantization.
fn without_rest(
    operands: &NodeInputs<'_>,
    input: &Value,
    lengths: &Value,
    steps: u64,
) -> Result<Value> {
    let longest = reduced(operands, lengths, &[true, true], ReduceFunction::Max)?;
    let steps = numbers(operands, lengths.element()?, &[steps, 1])?;
    let is_there = apply(operands, GREATER, &[longest, steps.clone()])?;
    let is_there = operands.reshaped(&is_there, &[steps.shape()?, &[1]].concat())?;
    chosen(operands, &is_there, input, None)
}

/// For each sequence, whether it has the step with this index.
fn has_step(operands: &NodeInputs<'_>, lengths: &Value, step: usize) -> Result<Value> {
    let element = lengths.element()?;
    let step = Value::scalar(element, from_integer(step as i128, element));
    apply(operands, GREATER, &[lengths.clone(), step])
}

/// The value where the condition holds, and `other`, or 0, elsewhere.
fn chosen(
    operands: &NodeInputs<'_>,
    condition: &Value,
    value: &Value,
    other: Option<&Value>,
) -> Result<Value> {
    let other = other.cloned().unwrap_or_else(|| Value::scalar(FLOAT, 0));
    apply(operands, WHERE, &[condition.clone(), value.clone(), other])
}
