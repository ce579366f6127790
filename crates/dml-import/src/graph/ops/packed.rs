//! Adds operators whose dimensions are merged where possible, on packed tensors or on strided ones.

use dml_core::{AbstractOperator, TensorDesc};

use crate::element::ElementType;
use crate::error::Result;
use crate::graph::device::{level, no_counterpart};
use crate::graph::dml::{packed_tensor, storage, strided_tensor};
use crate::graph::ops::NodeInputs;
use crate::graph::value::Storage;
use crate::graph::value::{Kind, Value};
use crate::tensor::element_count;

/// The least rank of a tensor, which operators accept at every level.
pub(super) const LEAST_RANK: usize = 4;

/// The number of elements before a dimension, its size, and the number of elements after it.
pub(super) fn around(shape: &[u64], axis: usize) -> [u64; 3] {
    [count(&shape[..axis]), shape[axis], count(&shape[axis + 1..])]
}

/// The number of elements; on overflow `u64::MAX`, which is refused later.
pub(super) fn count(shape: &[u64]) -> u64 {
    element_count(shape).unwrap_or(u64::MAX)
}

/// DirectML's index of dimension `axis` of `rank`, counting leading dimensions of size 1.
pub(super) fn dimension(axis: usize, rank: usize) -> u32 {
    u32::try_from(axis + LEAST_RANK.saturating_sub(rank)).unwrap_or(u32::MAX)
}

/// A value, or an output's kind, with the shape in which an operator sees it.
type Seen<'a, T> = (T, &'a [u64]);

/// Adds the operator that `build` makes for the tensors of `inputs`, packed, each in its given shape, and of
/// the output, which has the elements of `output` in the shape `seen`.
pub(super) fn write(
    operands: &NodeInputs<'_>,
    of_elements: Use,
    inputs: &[Seen<'_, &Value>],
    output: Kind,
    seen: &[u64],
    build: impl FnOnce(Vec<TensorDesc>, TensorDesc) -> AbstractOperator,
) -> Result<Value> {
    let build = |inputs, mut outputs: Vec<TensorDesc>| build(inputs, outputs.remove(0));
    Ok(write_all(operands, of_elements, inputs, vec![(output, seen)], build)?.remove(0))
}

/// Adds an operator like [`write`](fn@write), with several outputs; if one is empty, all are.
pub(super) fn write_all(
    operands: &NodeInputs<'_>,
    of_elements: Use,
    inputs: &[Seen<'_, &Value>],
    outputs: Vec<Seen<'_, Kind>>,
    build: impl FnOnce(Vec<TensorDesc>, Vec<TensorDesc>) -> AbstractOperator,
) -> Result<Vec<Value>> {
    let (kinds, written): (Vec<Kind>, Vec<&[u64]>) = outputs.into_iter().unzip();
    if kinds.iter().any(Kind::is_empty) {
        return empty(kinds);
    }
    check_demand(operands)?;
    let mut storages = Vec::with_capacity(inputs.len());
    let mut elements = Vec::with_capacity(inputs.len());
    for (value, _) in inputs {
        let packed = operands.materialized(value)?;
        packed.check()?;
        elements.push(packed.element()?);
        storages.push(packed.view().map(|view| view.storage.clone()));
    }
    let shapes = inputs.iter().map(|(_, shape)| *shape);
    let rank = shapes.clone().chain(written.clone()).map(<[u64]>::len).max().unwrap_or(0);
    let tensor = |element, shape: &[u64]| {
        let ones = vec![1; rank.saturating_sub(shape.len())];
        packed_tensor(operands.node, element, &[&ones, shape].concat())
    };
    let results: Vec<ElementType> = kinds.iter().map(|kind| kind.element).collect();
    Ok(operands.write_all(storages, kinds, || {
        let inputs = elements.iter().zip(shapes).map(|(it, shape)| tensor(*it, shape));
        let outputs = results.iter().zip(written).map(|(it, shape)| tensor(*it, shape));
        let built = build(inputs.collect::<Result<_>>()?, outputs.collect::<Result<_>>()?);
        refuse_patterns(operands, &elements, of_elements, built)
    }))
}

/// How an operator uses the elements of its inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// The operator moves elements as they are.
    Moved,
    /// The operator computes with numbers, or compares them.
    Computed,
}

/// Refuses an operator that would take the bits of floats for integers, which DirectML supports.
fn refuse_patterns(
    operands: &NodeInputs<'_>,
    elements: &[ElementType],
    of_elements: Use,
    operator: AbstractOperator,
) -> Result<AbstractOperator> {
    let pattern =
        elements.iter().find(|element| element.is_pattern() && of_elements == Use::Computed);
    match pattern.filter(|_| level(&operator).is_some()) {
        Some(element) => Err(no_counterpart(operands.node, *element)),
        None => Ok(operator),
    }
}

/// Adds an operator that reads inputs in their own shapes with strides. The output has the elements of `output`
/// in the shape `seen`; `build` gets the tensors of the inputs and of the output.
pub(crate) fn by_strides(
    operands: &NodeInputs<'_>,
    inputs: &[Option<Value>],
    output: Kind,
    seen: &[u64],
    build: impl FnOnce(Vec<Option<TensorDesc>>, TensorDesc) -> Result<AbstractOperator>,
) -> Result<Value> {
    let build = |inputs, mut outputs: Vec<TensorDesc>| build(inputs, outputs.remove(0));
    Ok(by_strides_all(operands, inputs, vec![(output, seen)], build)?.remove(0))
}

/// Adds an operator like [`by_strides`], with several outputs; if one is empty, all are.
pub(crate) fn by_strides_all(
    operands: &NodeInputs<'_>,
    inputs: &[Option<Value>],
    outputs: Vec<Seen<'_, Kind>>,
    build: impl FnOnce(Vec<Option<TensorDesc>>, Vec<TensorDesc>) -> Result<AbstractOperator>,
) -> Result<Vec<Value>> {
    let (kinds, written): (Vec<Kind>, Vec<&[u64]>) = outputs.into_iter().unzip();
    if kinds.iter().any(Kind::is_empty) {
        return empty(kinds);
    }
    check_demand(operands)?;
    let storages = inputs.iter().map(|input| input.as_ref().map(storage).transpose());
    let storages = storages.collect::<Result<Vec<Option<Storage>>>>()?;
    let elements: Vec<ElementType> = kinds.iter().map(|kind| kind.element).collect();
    Ok(operands.write_all(storages, kinds, || {
        let tensor = |value: &Value| {
            strided_tensor(operands.node, value.element()?, value.shape()?, &value.strides())
        };
        let tensors = inputs.iter().map(|input| input.as_ref().map(tensor).transpose());
        let outputs = elements.iter().zip(written);
        let outputs = outputs.map(|(it, shape)| packed_tensor(operands.node, *it, shape));
        build(tensors.collect::<Result<_>>()?, outputs.collect::<Result<_>>()?)
    }))
}

/// Values without elements.
fn empty(kinds: Vec<Kind>) -> Result<Vec<Value>> {
    kinds.into_iter().map(Value::empty).collect()
}

/// Checks that the host does not need the outputs, which only a device computes.
fn check_demand(operands: &NodeInputs<'_>) -> Result<()> {
    if operands.is_host_only() {
        let reason = "shapes depend on it, and only a device computes it";
        return Err(operands.node.not_supported(reason));
    }
    Ok(())
}
