//! Split: SPLIT.

use dml_core::operators::SplitDesc;

use crate::error::Result;
use crate::graph::device::no_counterpart;
use crate::graph::dml::packed_tensor;
use crate::graph::ops::concat::{around, position};
use crate::graph::ops::operands::{ComputeLocation, Operator};
use crate::graph::ops::{Need, NodeInputs, Op};
use crate::graph::value::{Kind, Value};
use crate::tensor::{Tensor, element_count, host_elements, text};

/// The lengths of the parts.
#[derive(Debug)]
pub(crate) enum Parts {
    /// Lengths given by an attribute.
    Lengths(Vec<i64>),
    /// Lengths given by the second input, or equal parts if it is left out.
    Input(Equal),
    /// Like [`Input`](Self::Input), with lengths of any type, including floats with integer values.
    AnyInput(Equal),
}

/// Parts of equal length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Equal {
    pub(crate) count: usize,
    /// Whether the last part may be shorter.
    pub(crate) has_rest: bool,
}

/// The parts of the input along a dimension.
#[derive(Debug)]
pub(crate) struct Split {
    pub(crate) axis: i64,
    pub(crate) parts: Parts,
}

impl Op for Split {
    fn need(&self, input: usize) -> Need {
        if input == 1 { Need::Host } else { Need::Elements }
    }

    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let input = operands.value(0, "input")?;
        let Kind { element, shape } = input.kind()?;
        if element.storage().is_none() {
            return Err(no_counterpart(operands.node, element));
        }
        let axis = operands.axis(self.axis, shape.len(), "attribute axis")?;
        let lengths = self.lengths(operands, shape[axis])?;
        parts(operands, input, axis, &lengths)
    }
}

/// The parts of `input` along a dimension; their lengths must add up to its size.
pub(super) fn parts(
    operands: &NodeInputs<'_>,
    input: &Value,
    axis: usize,
    lengths: &[u64],
) -> Result<Vec<Value>> {
    let Kind { element, shape } = input.kind()?;
    let part = |length: &u64| {
        let mut shape = shape.clone();
        shape[axis] = *length;
        Kind { element, shape }
    };
    let kinds: Vec<Kind> = lengths.iter().map(part).collect();
    input.check()?;
    if let [only] = kinds.as_slice() {
        debug_assert_eq!(only.shape, shape);
        return Ok(vec![input.clone()]);
    }
    let empty = |kind: &Kind| Value::empty(kind.clone());
    let whole = NodeInputs { values: vec![Some(input)], ..*operands };
    if !kinds.iter().all(Kind::is_empty)
        && whole.place(element_count(&shape), Operator::Present) == ComputeLocation::Host
    {
        return divided_on_host(operands, input, kinds, axis);
    }
    let full: Vec<Kind> = kinds.iter().filter(|kind| !kind.is_empty()).cloned().collect();
    let mut written = match full.is_empty() {
        true => vec![],
        false => divided(operands, input, full, axis)?,
    }
    .into_iter();
    let next = |kind: &Kind| match kind.is_empty() {
        true => empty(kind),
        // An output of the operator for each part that is not empty.
        false => written.next().map_or_else(|| empty(kind), Ok),
    };
    kinds.iter().map(next).collect()
}

impl Split {
    fn lengths(&self, operands: &NodeInputs<'_>, size: u64) -> Result<Vec<u64>> {
        let given = match &self.parts {
            Parts::Lengths(lengths) => lengths.clone(),
            Parts::Input(_) if operands.optional(1).is_some() => operands.vector(1, "split")?,
            Parts::AnyInput(_) if operands.optional(1).is_some() => {
                operands.whole_numbers(1, "split")?
            }
            Parts::Input(equal) | Parts::AnyInput(equal) => return equal.lengths(operands, size),
        };
        let lengths = given.iter().map(|it| operands.size(*it, "split"));
        let lengths = lengths.collect::<Result<Vec<u64>>>()?;
        let sum = lengths.iter().try_fold(0u64, |sum, it| sum.checked_add(*it));
        if sum != Some(size) || lengths.is_empty() {
            let problem = "is not what adds up to the dimension";
            return Err(operands.node.invalid("split", text(&lengths), problem, size.to_string()));
        }
        Ok(lengths)
    }
}

impl Equal {
    fn lengths(self, operands: &NodeInputs<'_>, size: u64) -> Result<Vec<u64>> {
        let count = (self.count as u64).max(1);
        let length = size.div_ceil(count);
        let before_last = length.saturating_mul(count - 1);
        if !(size.is_multiple_of(count) || self.has_rest && before_last < size) {
            let problem = "is not divided into so many parts";
            return Err(operands.node.invalid("input", size, problem, format!("{count} of them")));
        }
        let mut lengths = vec![length; self.count.max(1)];
        if let Some(last) = lengths.last_mut() {
            *last = size - before_last;
        }
        Ok(lengths)
    }
}

fn divided(
    operands: &NodeInputs<'_>,
    input: &Value,
    kinds: Vec<Kind>,
    axis: usize,
) -> Result<Vec<Value>> {
    let input = operands.materialized(input)?;
    input.check()?;
    let Kind { element, shape } = input.kind()?;
    let storage = input.view().map(|view| view.storage.clone());
    let outputs = kinds.clone();
    let build = || {
        let tensor = |shape: &[u64]| packed_tensor(operands.node, element, &around(shape, axis));
        let input_tensor = tensor(&shape)?;
        let output_tensors =
            kinds.iter().map(|kind| tensor(&kind.shape)).collect::<Result<Vec<_>>>()?;
        Ok(SplitDesc { input_tensor, output_tensors, axis: position(&shape, axis) }.into())
    };
    Ok(operands.device.add(operands.owner, vec![storage], outputs, build))
}

fn divided_on_host(
    operands: &NodeInputs<'_>,
    input: &Value,
    kinds: Vec<Kind>,
    axis: usize,
) -> Result<Vec<Value>> {
    let tensor = operands.read(input)?;
    host_elements(tensor.shape())?;
    let outer = host_elements(&tensor.shape()[..axis])?.max(1);
    let row = tensor.bytes().len() / outer;
    let mut at = 0;
    let part = |kind: Kind| {
        let count = host_elements(&kind.shape)?;
        let width = usize::try_from(kind.element.size().unwrap_or(0)).unwrap_or(0);
        let length = count * width / outer;
        let mut bytes = Vec::with_capacity(length * outer);
        for block in 0..outer {
            let start = block * row + at;
            bytes.extend_from_slice(&tensor.bytes()[start..start + length]);
        }
        at += length;
        Ok(Value::host(Tensor::new(kind.element, kind.shape.into_vec(), bytes)?))
    };
    kinds.into_iter().map(part).collect()
}
