//! Concat: JOIN.

use dml_core::operators::JoinDesc;

use crate::error::Result;
use crate::graph::device::no_counterpart;
use crate::graph::dml::{MAX_RANK, packed_tensor};
use crate::graph::ops::operands::{ComputeLocation, Operator};
use crate::graph::ops::{NodeInputs, Op};
use crate::graph::value::{Kind, Value};
use crate::tensor::{Tensor, element_count, host_elements, text};

/// Concatenates the inputs along a dimension.
#[derive(Debug)]
pub(crate) struct Concat {
    pub(crate) axis: i64,
}

impl Op for Concat {
    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let given = |index| operands.value(index, "inputs");
        let all = (0..operands.values.len()).map(given).collect::<Result<Vec<&Value>>>()?;
        join(operands, &all, self.axis, "inputs").map(|it| vec![it])
    }
}

/// Concatenates values along a dimension; `path` is their name in messages.
pub(super) fn join(
    operands: &NodeInputs<'_>,
    all: &[&Value],
    axis: i64,
    path: &str,
) -> Result<Value> {
    let (kind, axis) = infer(operands, all, axis, path)?;
    let parts: Vec<&Value> = all.iter().copied().filter(|it| !it.is_empty()).collect();
    let of = NodeInputs { values: all.iter().copied().map(Some).collect(), ..*operands };
    match parts.as_slice() {
        [] => Value::empty(kind),
        [only] => Ok((*only).clone()),
        _ if of.place(element_count(&kind.shape), Operator::Present) == ComputeLocation::Host => {
            joined_on_host(operands, &parts, kind, axis)
        }
        _ => joined(operands, &parts, kind, axis),
    }
}

fn infer(
    operands: &NodeInputs<'_>,
    all: &[&Value],
    axis: i64,
    path: &str,
) -> Result<(Kind, usize)> {
    let Some(first) = all.first() else {
        return Err(operands.node.invalid(path, 0, "is the wrong number", "one or more"));
    };
    let Kind { element, mut shape } = first.kind()?;
    if element.storage().is_none() {
        return Err(no_counterpart(operands.node, element));
    }
    let axis = operands.axis(axis, shape.len(), "attribute axis")?;
    shape[axis] = 0;
    for value in all {
        let mut other = value.kind()?;
        let along = other.shape.get_mut(axis).map(std::mem::take).unwrap_or_default();
        let sum = shape[axis].saturating_add(along);
        shape[axis] = 0;
        if other.shape != shape || other.element != element {
            let given = format!("{} {}", other.element, text(value.shape()?));
            let like = format!("{element} {}", text(first.shape()?));
            return Err(operands.node.invalid(path, given, "does not fit", like));
        }
        shape[axis] = sum;
    }
    Ok((Kind { element, shape }, axis))
}

fn joined_on_host(
    operands: &NodeInputs<'_>,
    parts: &[&Value],
    kind: Kind,
    axis: usize,
) -> Result<Value> {
    host_elements(&kind.shape)?;
    let tensors = parts.iter().map(|part| operands.read(part)).collect::<Result<Vec<Tensor>>>()?;
    let outer = host_elements(&kind.shape[..axis])?;
    let mut bytes = Vec::new();
    for block in 0..outer {
        for tensor in &tensors {
            let length = tensor.bytes().len() / outer.max(1);
            bytes.extend_from_slice(&tensor.bytes()[block * length..(block + 1) * length]);
        }
    }
    Ok(Value::host(Tensor::new(kind.element, kind.shape.into_vec(), bytes)?))
}

fn joined(operands: &NodeInputs<'_>, parts: &[&Value], kind: Kind, axis: usize) -> Result<Value> {
    let parts =
        parts.iter().map(|part| operands.materialized(part)).collect::<Result<Vec<Value>>>()?;
    parts.iter().try_for_each(Value::check)?;
    let storages = parts.iter().map(|part| part.view().map(|view| view.storage.clone())).collect();
    let build = || {
        let tensor =
            |shape: &[u64]| packed_tensor(operands.node, kind.element, &around(shape, axis));
        let output_tensor = tensor(&kind.shape)?;
        let input_tensors =
            parts.iter().map(|part| tensor(part.shape()?)).collect::<Result<Vec<_>>>()?;
        let axis = position(&kind.shape, axis);
        Ok(JoinDesc { input_tensors, output_tensor, axis }.into())
    };
    Ok(operands.write(storages, kind.clone(), build))
}

/// The shape for operators along a dimension: if it has too many dimensions, those before the axis and those
/// after it are merged.
pub(super) fn around(shape: &[u64], axis: usize) -> Vec<u64> {
    if shape.len() <= MAX_RANK {
        return shape.to_vec();
    }
    let count = |part: &[u64]| element_count(part).unwrap_or(u64::MAX);
    vec![count(&shape[..axis]), shape[axis], count(&shape[axis + 1..])]
}

/// The dimension of DirectML's tensor that `axis` becomes.
pub(super) fn position(shape: &[u64], axis: usize) -> u32 {
    // Tensors have at least four dimensions.
    let (rank, axis) = if shape.len() <= MAX_RANK { (shape.len(), axis) } else { (3, 1) };
    u32::try_from(axis + 4usize.saturating_sub(rank)).unwrap_or(u32::MAX)
}
