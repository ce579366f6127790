//! Rearranges the elements of one value: on the host by their positions, or with a DirectML operator.

use dml_core::{AbstractOperator, TensorDesc};

use crate::error::Result;
use crate::graph::device::no_counterpart;
use crate::graph::dml::packed_tensor;
use crate::graph::ops::NodeInputs;
use crate::graph::ops::operands::{ComputeLocation, Operator};
use crate::graph::value::{Content, Kind, Value};
use crate::tensor::{element_count, host_elements};

/// The least rank of a tensor.
const LEAST_RANK: usize = 4;

/// The value of this shape with the coordinates `positions` of `input` in each dimension. On a device, `build`
/// makes the operator; the result has the input's type.
pub(super) fn moved(
    operands: &NodeInputs<'_>,
    input: &Value,
    shape: Vec<u64>,
    positions: impl FnOnce() -> Vec<Vec<usize>>,
    build: impl FnOnce() -> Result<AbstractOperator>,
) -> Result<Value> {
    input.check()?;
    let kind = Kind { element: input.element()?, shape: shape.into() };
    if kind.is_empty() {
        return Value::empty(kind);
    }
    if let Content::Fill(bits) = input.content {
        return Ok(Value::fill(kind, bits));
    }
    if is_on_host(operands, input, &kind.shape) {
        host_elements(&kind.shape)?;
        let tensor = operands.read(input)?;
        let picked = row_major(tensor.shape(), positions());
        return Ok(Value::host(tensor.picked(kind.shape.into_vec(), &picked)));
    }
    written(operands, input, kind, build)
}

/// Whether the host rearranges the elements of `input` to `shape`.
pub(super) fn is_on_host(operands: &NodeInputs<'_>, input: &Value, shape: &[u64]) -> bool {
    let only = NodeInputs { values: vec![Some(input)], ..*operands };
    only.place(element_count(shape), Operator::Present) == ComputeLocation::Host
}

/// The output of the operator that `build` makes, which reads the input's elements packed.
pub(super) fn written(
    operands: &NodeInputs<'_>,
    input: &Value,
    kind: Kind,
    build: impl FnOnce() -> Result<AbstractOperator>,
) -> Result<Value> {
    if kind.element.storage().is_none() {
        return Err(no_counterpart(operands.node, kind.element));
    }
    let input = operands.materialized(input)?;
    input.check()?;
    let storage = input.view().map(|view| view.storage.clone());
    Ok(operands.write(vec![storage], kind, build))
}

/// Packed tensors for the input and the output, with the input's type.
pub(super) fn tensors(
    operands: &NodeInputs<'_>,
    input: &Value,
    shapes: [&[u64]; 2],
) -> Result<[TensorDesc; 2]> {
    let element = input.element()?;
    let [input, output] = shapes.map(|shape| packed_tensor(operands.node, element, shape));
    Ok([input?, output?])
}

/// One value for each dimension of the tensor, with fillers for leading dimensions that the shape lacks.
pub(super) fn leading<T: Clone>(values: impl IntoIterator<Item = T>, filler: T) -> Vec<T> {
    let values: Vec<T> = values.into_iter().collect();
    let missing = LEAST_RANK.saturating_sub(values.len());
    [vec![filler; missing], values].concat()
}

/// Merges neighbouring unchanged dimensions if there are more than `most`.
pub(super) fn joined<T: Copy>(
    dimensions: &[T],
    most: usize,
    join: impl Fn(T, T) -> Option<T>,
) -> Vec<T> {
    if dimensions.len() <= most {
        return dimensions.to_vec();
    }
    let mut all: Vec<T> = vec![];
    for dimension in dimensions {
        match all.last_mut().and_then(|last| Some((join(*last, *dimension)?, last))) {
            Some((both, last)) => *last = both,
            None => all.push(*dimension),
        }
    }
    all
}

/// Positions, in row-major order, of the elements at these coordinates in each dimension.
fn row_major(shape: &[u64], positions: Vec<Vec<usize>>) -> Vec<usize> {
    positions.into_iter().zip(shape).fold(vec![0], |picked, (positions, size)| {
        let size = usize::try_from(*size).unwrap_or(0);
        let along = |base: &usize| {
            let start = *base * size;
            positions.iter().map(move |at| start + at).collect::<Vec<_>>()
        };
        picked.iter().flat_map(along).collect()
    })
}
