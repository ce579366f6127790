//! Gather operations: GATHER, GATHER_ELEMENTS and GATHER_ND1.

use dml_core::operators::{GatherDesc, GatherElementsDesc, GatherNd1Desc};

use crate::error::Result;
use crate::graph::ops::operands::{ComputeLocation, Operator};
use crate::graph::ops::packed::{Use, around, count, dimension, write};
use crate::graph::ops::{Need, NodeInputs, Op};
use crate::graph::value::{Kind, Value};
use crate::tensor::{Tensor, element_count, host_elements, text};

/// The slices of the first input at the indices in the second one.
#[derive(Debug)]
pub(crate) struct Gather {
    /// `None`: the third input holds the axis.
    pub(crate) axis: Option<i64>,
}

/// The slices of `data` at these indices along a dimension.
pub(super) fn gathered(
    operands: &NodeInputs<'_>,
    data: &Value,
    indices: &Value,
    axis: i64,
) -> Result<Value> {
    let both = NodeInputs { values: vec![Some(data), Some(indices)], ..*operands };
    Ok(Gather { axis: Some(axis) }.evaluate(&both)?.remove(0))
}

impl Op for Gather {
    fn need(&self, input: usize) -> Need {
        if input == 2 { Need::Host } else { Need::Elements }
    }

    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let (data, indices) = (operands.value(0, "data")?, operands.value(1, "indices")?);
        let axis = match self.axis {
            Some(axis) => axis,
            None => operands.scalar(2, "axis")?,
        };
        let Kind { element, shape } = data.kind()?;
        let axis = operands.axis(axis, shape.len(), "axis")?;
        let of_indices = indices.shape()?;
        let shape = [&shape[..axis], of_indices, &shape[axis + 1..]].concat();
        let elements = [Some(data), Some(indices)];
        let both = NodeInputs { values: elements.to_vec(), ..*operands };
        let is_host = both.place(element_count(&shape), Operator::Present) == ComputeLocation::Host;
        // Indices that the device computes are not read for a result without elements.
        if !is_host && element_count(&shape) == Some(0) && data.shape()?[axis] > 0 {
            return Tensor::new(element, shape, vec![]).map(|it| vec![Value::host(it)]);
        }
        if is_host || data.is_empty() {
            return gathered_on_host(operands, axis, shape);
        }
        operands.integer_type(indices, "indices")?;
        let [outer, size, inner] = around(data.shape()?, axis);
        let count = count(of_indices);
        let inputs = [(data, &[outer, size, inner][..]), (indices, &[count][..])];
        let seen = [outer, count, inner];
        let kind = Kind { element, shape: shape.into() };
        let gathered =
            write(operands, Use::Moved, &inputs, kind, &seen, |mut it, output_tensor| {
                let [input_tensor, indices_tensor] = [it.remove(0), it.remove(0)];
                let axis = dimension(1, 3);
                GatherDesc {
                    input_tensor,
                    indices_tensor,
                    output_tensor,
                    axis,
                    index_dimensions: 1,
                }
                .into()
            });
        gathered.map(|gathered| vec![gathered])
    }
}

fn gathered_on_host(operands: &NodeInputs<'_>, axis: usize, shape: Vec<u64>) -> Result<Vec<Value>> {
    let data = operands.tensor(0, "data")?;
    let indices = operands.integers(1, "indices")?;
    host_elements(&shape)?;
    let (outer, rest) = data.shape().split_at(axis);
    let (outer, inner) = (host_elements(outer)?, host_elements(&rest[1..])?);
    let size = host_elements(&rest[..1])?;
    let mut picked = Vec::new();
    for block in 0..outer {
        for index in &indices {
            let index = operands.axis(*index, size, "indices")?;
            let start = (block * size + index) * inner;
            picked.extend(start..start + inner);
        }
    }
    Ok(vec![Value::host(data.picked(shape, &picked))])
}

/// The elements of the first input at the indices in the second one along a dimension.
#[derive(Debug)]
pub(crate) struct GatherElements {
    pub(crate) axis: i64,
}

impl Op for GatherElements {
    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let (data, indices) = (operands.value(0, "data")?, operands.value(1, "indices")?);
        operands.integer_type(indices, "indices")?;
        let (Kind { element, shape }, given) = (data.kind()?, indices.shape()?);
        let axis = operands.axis(self.axis, shape.len(), "attribute axis")?;
        let mut walked = given.to_vec();
        let fits = given.len() == shape.len()
            && (0..shape.len()).all(|at| at == axis || given[at] <= shape[at]);
        if !fits {
            let (given, accepted) = (text(given), format!("sizes within {}", text(&shape)));
            return Err(operands.node.invalid("indices", given, "is the wrong shape", accepted));
        }
        walked[axis] = shape[axis];
        let data = data.seen(walked.into(), data.strides());
        let [outer, size, inner] = around(data.shape()?, axis);
        let seen = [outer, given[axis], inner];
        let inputs = [(&data, &[outer, size, inner][..]), (indices, &seen[..])];
        let kind = Kind { element, shape: given.into() };
        let gathered =
            write(operands, Use::Moved, &inputs, kind, &seen, |mut it, output_tensor| {
                let [input_tensor, indices_tensor] = [it.remove(0), it.remove(0)];
                let axis = dimension(1, 3);
                GatherElementsDesc { input_tensor, indices_tensor, output_tensor, axis }.into()
            });
        gathered.map(|gathered| vec![gathered])
    }
}

/// The slices of the first input at the coordinates in the last dimension of the second one.
#[derive(Debug)]
pub(crate) struct GatherNd {
    /// The number of leading batch dimensions that both inputs share.
    pub(crate) batch_dimensions: i64,
}

/// The slices of each batch of `data` at coordinates.
pub(super) fn gathered_parts(
    operands: &NodeInputs<'_>,
    data: &Value,
    indices: &Value,
) -> Result<Value> {
    let both = NodeInputs { values: vec![Some(data), Some(indices)], ..*operands };
    Ok(GatherNd { batch_dimensions: 1 }.evaluate(&both)?.remove(0))
}

impl Op for GatherNd {
    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let (data, indices) = (operands.value(0, "data")?, operands.value(1, "indices")?);
        let batches = usize::try_from(self.batch_dimensions).map_err(|_| {
            let (given, accepted) = (self.batch_dimensions, "0 and more");
            operands.node.invalid("attribute batch_dims", given, "is not a number", accepted)
        })?;
        let element = data.element()?;
        let tuples = Tuples::of(operands, data, indices, batches)?;
        let shape = [tuples.indices.as_slice(), &tuples.rest].concat();
        let (of_data, of_indices, seen) = tuples.seen();
        let batch_dimension_count = u32::from(batches > 0);
        let [input_dimension_count, indices_dimension_count] =
            [&of_data, &of_indices].map(|it| u32::try_from(it.len()).unwrap_or(u32::MAX));
        let inputs = [(data, of_data.as_slice()), (indices, of_indices.as_slice())];
        let kind = Kind { element, shape: shape.into() };
        let gathered =
            write(operands, Use::Moved, &inputs, kind, &seen, |mut it, output_tensor| {
                let [input_tensor, indices_tensor] = [it.remove(0), it.remove(0)];
                GatherNd1Desc {
                    input_tensor,
                    indices_tensor,
                    output_tensor,
                    input_dimension_count,
                    indices_dimension_count,
                    batch_dimension_count,
                }
                .into()
            });
        gathered.map(|gathered| vec![gathered])
    }
}

/// How index tuples in the last dimension of indices select slices of data.
pub(super) struct Tuples {
    /// The sizes of the dimensions that a tuple has coordinates for.
    chosen: Vec<u64>,
    batches: usize,
    /// The indices' shape without its last dimension.
    pub(super) indices: Vec<u64>,
    /// The data's trailing sizes, without coordinates.
    pub(super) rest: Vec<u64>,
}

impl Tuples {
    pub(super) fn of(
        operands: &NodeInputs<'_>,
        data: &Value,
        indices: &Value,
        batches: usize,
    ) -> Result<Self> {
        operands.integer_type(indices, "indices")?;
        let (data, given) = (data.shape()?, indices.shape()?);
        let wrong = || {
            let accepted = format!("coordinates in {} by {batches} batches", text(data));
            operands.node.invalid("indices", text(given), "is the wrong shape", accepted)
        };
        let (coordinates, indices) = given.split_last().ok_or_else(wrong)?;
        let rest = usize::try_from(*coordinates).ok().and_then(|it| it.checked_add(batches));
        let rest = rest.filter(|rest| *rest > batches && *rest <= data.len()).ok_or_else(wrong)?;
        if indices.len() < batches || indices[..batches] != data[..batches] {
            return Err(wrong());
        }
        let (chosen, rest) = (data[batches..rest].to_vec(), data[rest..].to_vec());
        Ok(Self { chosen, batches, indices: indices.to_vec(), rest })
    }

    /// The shapes of the data, the indices and the slices, with dimensions merged where possible.
    pub(super) fn seen(&self) -> (Vec<u64>, Vec<u64>, Vec<u64>) {
        let (batches, tuples) = self.indices.split_at(self.batches);
        let batches: Vec<u64> = if batches.is_empty() { vec![] } else { vec![count(batches)] };
        let rest: Vec<u64> = if self.rest.is_empty() { vec![] } else { vec![count(&self.rest)] };
        let tuples = [count(tuples)];
        let data = [batches.as_slice(), &self.chosen, &rest].concat();
        let indices = [batches.as_slice(), &tuples, &[self.chosen.len() as u64]].concat();
        let parts = [batches.as_slice(), &tuples, &rest].concat();
        (data, indices, parts)
    }
}
