//! Sequences of tensors whose lengths the host knows.

use crate::error::Result;
use crate::graph::ops::body::{Body, stacked};
use crate::graph::ops::concat::join;
use crate::graph::ops::split::parts;
use crate::graph::ops::{Need, NodeInputs, Op};
use crate::graph::value::{Content, Value};
use crate::tensor::{Tensor, text};

/// The tensors of an input, which must be a sequence.
fn tensors<'a>(operands: &NodeInputs<'a>, index: usize, name: &str) -> Result<&'a [Value]> {
    let value = operands.optional(index);
    let value =
        value.ok_or_else(|| operands.node.invalid(name, "nothing", "is given", "a sequence"))?;
    value.check()?;
    match &value.content {
        Content::Sequence(tensors) => Ok(tensors),
        _ => Err(operands.node.invalid(name, "a tensor", "is given", "a sequence of tensors")),
    }
}

/// A sequence, whose tensors must have one type.
fn sequence(operands: &NodeInputs<'_>, tensors: Vec<Value>) -> Result<Vec<Value>> {
    let mut elements = tensors.iter().filter_map(|tensor| tensor.element);
    if let Some(accepted) = elements.next()
        && let Some(given) = elements.find(|element| *element != accepted)
    {
        let problem = "is another type than that of the sequence";
        return Err(operands.node.invalid("tensor", given, problem, accepted.to_string()));
    }
    Ok(vec![Value::sequence(tensors)])
}

/// A sequence of all inputs.
#[derive(Debug)]
pub(crate) struct SequenceOf;

impl Op for SequenceOf {
    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let tensor = |index| operands.value(index, "inputs").cloned();
        sequence(operands, (0..operands.values.len()).map(tensor).collect::<Result<_>>()?)
    }
}

/// An optional value: the input, or none.
#[derive(Debug)]
pub(crate) struct OptionalOf;

impl Op for OptionalOf {
    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let given = operands.values.first().copied().flatten().cloned();
        let none = || Value { element: None, shape: None, content: Content::Nothing };
        Ok(vec![given.unwrap_or_else(none)])
    }
}

/// The number of tensors in a sequence.
#[derive(Debug)]
pub(crate) struct SequenceLength;

impl Op for SequenceLength {
    fn need(&self, _input: usize) -> Need {
        Need::Shape
    }

    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let length = tensors(operands, 0, "input_sequence")?.len();
        let length = i64::try_from(length).unwrap_or(i64::MAX);
        Ok(vec![Value::host(Tensor::from_integers(vec![], &[length]))])
    }
}

/// Copying so many tensors of a sequence, which are descriptions and no elements, counts as one value of the budget.
const VALUES_OF_A_COPY: u64 = 8;

/// A change to a sequence, or one of its tensors; the last input is the position, which may be counted from the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtPosition {
    /// The tensor.
    Take,
    /// The sequence without the tensor, by default the last one.
    Erase,
    /// The sequence with the second input before the position, by default at the end.
    Insert,
}

impl AtPosition {
    /// The input that has the position.
    fn position(self) -> usize {
        if self == Self::Insert { 2 } else { 1 }
    }
}

impl Op for AtPosition {
    fn need(&self, input: usize) -> Need {
        if input == self.position() { Need::Host } else { Need::Elements }
    }

    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let given = tensors(operands, 0, "input_sequence")?;
        let places = given.len() + usize::from(*self == Self::Insert);
        let position = match operands.optional(self.position()) {
            Some(_) => operands.scalar(self.position(), "position")?,
            None if *self == Self::Take => {
                return Err(operands.node.invalid("position", "nothing", "is given", "a position"));
            }
            None => i64::try_from(places).unwrap_or(i64::MAX) - 1,
        };
        // A position from the end counts the tensors that are there.
        let position = match *self == Self::Insert && position < 0 {
            true => operands.axis(position, given.len(), "position")?,
            false => operands.axis(position, places, "position")?,
        };
        if *self == Self::Take {
            return Ok(vec![given[position].clone()]);
        }
        operands.budget.take_values(operands.node, 1 + given.len() as u64 / VALUES_OF_A_COPY)?;
        let mut all = given.to_vec();
        match self {
            Self::Take => {}
            Self::Erase => drop(all.remove(position)),
            Self::Insert => all.insert(position, operands.value(1, "tensor")?.clone()),
        }
        sequence(operands, all)
    }
}

/// The parts of a tensor along a dimension: of one element each, or as the second input has it, a length of all parts
/// or one of each.
#[derive(Debug)]
pub(crate) struct SplitToSequence {
    pub(crate) axis: i64,
    /// Whether parts of one element keep the dimension, where no lengths are given.
    pub(crate) keeps_dimension: bool,
}

impl Op for SplitToSequence {
    fn need(&self, input: usize) -> Need {
        if input == 1 { Need::Host } else { Need::Elements }
    }

    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let input = operands.value(0, "input")?;
        let shape = input.shape()?;
        let axis = operands.axis(self.axis, shape.len(), "attribute axis")?;
        let size = shape[axis];
        let lengths = self.lengths(operands, size)?;
        if lengths.is_empty() {
            return sequence(operands, vec![]);
        }
        operands.budget.take_values(operands.node, lengths.len() as u64)?;
        let parts = parts(operands, input, axis, &lengths)?;
        if operands.optional(1).is_some() || self.keeps_dimension {
            return sequence(operands, parts);
        }
        let mut rest = shape.to_vec();
        rest.remove(axis);
        let flat = parts.iter().map(|part| operands.reshaped(part, &rest));
        sequence(operands, flat.collect::<Result<_>>()?)
    }
}

impl SplitToSequence {
    fn lengths(&self, operands: &NodeInputs<'_>, size: u64) -> Result<Vec<u64>> {
        let wrong = |given: String, accepted: String| {
            operands.node.invalid("split", given, "does not fit the dimension", accepted)
        };
        let Some(split) = operands.optional(1) else {
            operands.budget.take_values(operands.node, size)?;
            return Ok(vec![1; usize::try_from(size).unwrap_or(usize::MAX)]);
        };
        let lengths = operands.sizes(1, "split")?;
        if !split.shape()?.is_empty() {
            let sum = lengths.iter().copied().fold(0, u64::saturating_add);
            let fits = sum == size && !lengths.is_empty();
            return if fits { Ok(lengths) } else { Err(wrong(text(&lengths), size.to_string())) };
        }
        let length = lengths.first().copied().filter(|it| *it > 0);
        let length = length.ok_or_else(|| wrong("0".to_owned(), "1 and more".to_owned()))?;
        let count = size.div_ceil(length);
        operands.budget.take_values(operands.node, count)?;
        let part = |at| length.min(size - at * length);
        Ok((0..count).map(part).collect())
    }
}

/// The tensors of a sequence, concatenated along a dimension, or stacked along a new one.
#[derive(Debug)]
pub(crate) struct ConcatFromSequence {
    pub(crate) axis: i64,
    pub(crate) is_new_axis: bool,
}

impl Op for ConcatFromSequence {
    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let tensors = tensors(operands, 0, "input_sequence")?;
        if tensors.is_empty() {
            let accepted = "at least one tensor";
            return Err(operands.node.invalid("input_sequence", 0, "tensors are given", accepted));
        }
        let path = "attribute axis";
        let joined = match self.is_new_axis {
            true => stacked(operands, tensors, self.axis, path)?,
            false => join(operands, &tensors.iter().collect::<Vec<_>>(), self.axis, path)?,
        };
        Ok(vec![joined])
    }
}

/// The results of a graph for each tensor of a sequence, as sequences. The first input is a sequence; each further one
/// is a sequence of as many tensors, or a tensor that is given to all.
#[derive(Debug)]
pub(crate) struct SequenceMap {
    pub(crate) body: Body,
    /// The number of inputs before the values of outer graphs.
    pub(crate) inputs: usize,
}

impl Op for SequenceMap {
    fn need(&self, input: usize) -> Need {
        self.body.need(input)
    }

    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let count = tensors(operands, 0, "input_sequence")?.len();
        self.body.check_count(operands, count as u64)?;
        let mut results: Vec<Vec<Value>> = vec![vec![]; self.body.outputs()];
        for at in 0..count {
            let own = (0..self.inputs).map(|index| {
                let value = operands.value(index, "additional_inputs")?;
                match &value.content {
                    Content::Sequence(all) if all.len() == count => Ok(&all[at]),
                    Content::Sequence(all) => {
                        let (problem, accepted) = ("tensors are given", count.to_string());
                        let path = "additional_inputs";
                        Err(operands.node.invalid(path, all.len(), problem, accepted))
                    }
                    _ => Ok(value),
                }
            });
            let own = own.collect::<Result<Vec<&Value>>>()?.into_iter().map(Some);
            let around = operands.values.iter().skip(self.inputs).copied();
            let found = self.body.run(operands, own.chain(around))?;
            results.iter_mut().zip(found).for_each(|(all, value)| all.push(value));
        }
        Ok(results.into_iter().map(Value::sequence).collect())
    }
}
