//! Elements of one value in another arrangement: on the host by their positions, or by one of DirectML's
//! operators.

use dml_core::{AbstractOperator, TensorDesc};

use crate::error::Result;
use crate::graph::device::no_counterpart;
use crate::graph::dml::packed_tensor;
use crate::graph::ops::Operands;
use crate::graph::ops::operands::{Operator, Place};
use crate::graph::value::{Content, Kind, Value};
use crate::tensor::{Tensor, element_count, host_elements};

/// Dimensions of a tensor where a shape has fewer.
const LEAST_RANK: usize = 4;

/// The value of this shape that has in each dimension the coordinates of `input` that `positions` says; on a
/// device the operator that `build` makes, which gets nothing but the types of its tensors.
pub(super) fn moved(
    operands: &Operands<'_>,
    input: &Value,
    shape: Vec<u64>,
    positions: impl FnOnce() -> Vec<Vec<usize>>,
    build: impl FnOnce() -> Result<AbstractOperator>,
) -> Result<Value> {
    input.check()?;
    let kind = Kind { element: input.element()?, shape };
    if kind.is_empty() {
        return Ok(Value::host(Tensor::new(kind.element, kind.shape, vec![])?));
    }
    if let Content::Fill(bits) = input.content {
        return Ok(Value::fill(kind, bits));
    }
    if is_on_host(operands, input, &kind.shape) {
        host_elements(&kind.shape)?;
        let tensor = operands.read(input)?;
        let picked = row_major(tensor.shape(), positions());
        return Ok(Value::host(tensor.picked(kind.shape, &picked)));
    }
    written(operands, input, kind, build)
}

/// Whether the host arranges the elements of `input` to `shape`.
pub(super) fn is_on_host(operands: &Operands<'_>, input: &Value, shape: &[u64]) -> bool {
    let only = Operands { values: vec![Some(input)], ..*operands };
    only.place(element_count(shape), Operator::Present) == Place::Host
}

/// What the operator writes that `build` makes, of packed elements.
pub(super) fn written(
    operands: &Operands<'_>,
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

/// The packed tensors of both values.
pub(super) fn tensors(
    operands: &Operands<'_>,
    input: &Value,
    shapes: [&[u64]; 2],
) -> Result<[TensorDesc; 2]> {
    let element = input.element()?;
    let [input, output] = shapes.map(|shape| packed_tensor(operands.node, element, shape));
    Ok([input?, output?])
}

/// One value for each dimension of the tensor, which has more of them than the shape where that has few.
pub(super) fn leading<T: Clone>(values: impl IntoIterator<Item = T>, filler: T) -> Vec<T> {
    let values: Vec<T> = values.into_iter().collect();
    let missing = LEAST_RANK.saturating_sub(values.len());
    [vec![filler; missing], values].concat()
}

/// The dimensions as DirectML has them: where there are more than `most`, neighbours that stay as they are become
/// one.
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

/// The numbers of the elements at these coordinates of each dimension.
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
