//! Scatter operations: SCATTER_ELEMENTS, SCATTER_ND and MAX_UNPOOLING.

use dml_core::DataType;
use dml_core::operators::{MaxUnpoolingDesc, ScatterElementsDesc, ScatterNdDesc};

use crate::element::ElementType;
use crate::error::Result;
use crate::graph::ops::concat::join;
use crate::graph::ops::index::Tuples;
use crate::graph::ops::packed::{Use, around, count, dimension, write};
use crate::graph::ops::slice::{Walk, walked};
use crate::graph::ops::{Need, NodeInputs, Op};
use crate::graph::value::{Kind, Value};
use crate::tensor::text;

/// The first input, with elements replaced by those of the third input at the indices in the second one.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scatter {
    /// Indices along a dimension.
    Elements { axis: i64 },
    /// Index tuples with coordinates of slices.
    Parts,
}

impl Op for Scatter {
    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let (data, indices) = (operands.value(0, "data")?, operands.value(1, "indices")?);
        let updates = operands.value(2, "updates")?;
        operands.integer_type(indices, "indices")?;
        let kind = data.kind()?;
        operands.type_is(updates.element()?, &[kind.element], "updates")?;
        let scattered = match self {
            Self::Elements { axis } => elements(operands, [data, indices, updates], kind, *axis),
            Self::Parts => parts(operands, [data, indices, updates], kind),
        };
        scattered.map(|scattered| vec![scattered])
    }
}

/// The data, with these updates at these indices along a dimension.
pub(super) fn scattered(
    operands: &NodeInputs<'_>,
    [data, indices, updates]: [&Value; 3],
    axis: i64,
) -> Result<Value> {
    elements(operands, [data, indices, updates], data.kind()?, axis)
}

fn elements(
    operands: &NodeInputs<'_>,
    [data, indices, updates]: [&Value; 3],
    kind: Kind,
    axis: i64,
) -> Result<Value> {
    let (shape, given) = (&kind.shape, indices.shape()?);
    operands.has_shape(updates, given, "updates")?;
    let axis = operands.axis(axis, shape.len(), "attribute axis")?;
    if given.len() != shape.len() || given.iter().zip(shape).any(|(given, size)| given > size) {
        let (given, accepted) = (text(given), format!("sizes within {}", text(shape)));
        return Err(operands.node.invalid("indices", given, "is the wrong shape", accepted));
    }
    if indices.is_empty() {
        return Ok(data.clone());
    }
    let beyond = (0..shape.len()).find(|at| *at != axis && given[*at] < shape[*at]);
    if let Some(beyond) = beyond {
        return within(operands, [data, indices, updates], axis, beyond);
    }
    let (of_data, of_indices) = (around(shape, axis), around(given, axis));
    let inputs = [(data, &of_data[..]), (indices, &of_indices[..]), (updates, &of_indices[..])];
    write(operands, Use::Moved, &inputs, kind.clone(), &of_data, |mut it, output_tensor| {
        let [input_tensor, indices_tensor, updates_tensor] =
            [it.remove(0), it.remove(0), it.remove(0)];
        let axis = dimension(1, 3);
        ScatterElementsDesc { input_tensor, indices_tensor, updates_tensor, output_tensor, axis }
            .into()
    })
}

/// Scatters to the elements that have indices along the dimension `beyond`, and appends the others: DirectML's
/// SCATTER_ELEMENTS takes indices of the data's sizes in all dimensions but `axis`.
fn within(
    operands: &NodeInputs<'_>,
    [data, indices, updates]: [&Value; 3],
    axis: usize,
    beyond: usize,
) -> Result<Value> {
    let (shape, with_indices) = (data.shape()?, indices.shape()?[beyond]);
    let part = |first: u64, count: u64| {
        let mut walks: Vec<Walk> = shape.iter().map(|size| Walk::whole(*size)).collect();
        walks[beyond] = Walk::forwards(shape[beyond], first, count);
        walked(operands, data, &walks)
    };
    let written = part(0, with_indices)?;
    let kept = part(with_indices, shape[beyond] - with_indices)?;
    let along = |at: usize| i64::try_from(at).unwrap_or(i64::MAX);
    let (inputs, kind) = ([&written, indices, updates], written.kind()?);
    let scattered = elements(operands, inputs, kind, along(axis))?;
    join(operands, &[&scattered, &kept], along(beyond), "data")
}

fn parts(
    operands: &NodeInputs<'_>,
    [data, indices, updates]: [&Value; 3],
    kind: Kind,
) -> Result<Value> {
    let tuples = Tuples::of(operands, data, indices, 0)?;
    let of_updates = [tuples.indices.as_slice(), &tuples.rest].concat();
    operands.has_shape(updates, &of_updates, "updates")?;
    if indices.is_empty() || updates.is_empty() {
        return Ok(data.clone());
    }
    let (of_data, of_indices, of_updates) = tuples.seen();
    let [input_dimension_count, indices_dimension_count] =
        [&of_data, &of_indices].map(|it| u32::try_from(it.len()).unwrap_or(u32::MAX));
    let inputs = [(data, &of_data[..]), (indices, &of_indices[..]), (updates, &of_updates[..])];
    write(operands, Use::Moved, &inputs, kind, &of_data, |mut it, output_tensor| {
        let [input_tensor, indices_tensor, updates_tensor] =
            [it.remove(0), it.remove(0), it.remove(0)];
        ScatterNdDesc {
            input_tensor,
            indices_tensor,
            updates_tensor,
            output_tensor,
            input_dimension_count,
            indices_dimension_count,
        }
        .into()
    })
}

/// Zeros, with the elements of the first input at the indices in the second one. Indices count the elements of
/// the output, whose sizes are in the third input, or follow from the attributes of the pooling.
#[derive(Debug)]
pub(crate) struct MaxUnpool {
    pub(crate) kernel: Vec<i64>,
    pub(crate) strides: Option<Vec<i64>>,
    pub(crate) pads: Option<Vec<i64>>,
}

/// The pooling windows along a dimension.
struct Windows {
    count: i128,
    stride: i128,
    kernel: i128,
    pads: i128,
}

impl Op for MaxUnpool {
    fn need(&self, input: usize) -> Need {
        if input == 2 { Need::Host } else { Need::Elements }
    }

    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let (data, indices) = (operands.value(0, "X")?, operands.value(1, "I")?);
        operands.type_is(indices.element()?, &[ElementType::INT64], "I")?;
        let Kind { element, shape } = data.kind()?;
        operands.has_shape(indices, &shape, "I")?;
        let windows = self.windows(operands, &shape)?;
        let output = match operands.optional(2) {
            Some(_) => given_shape(operands, &shape, &windows)?,
            None => pooled_shape(operands, &shape, &windows)?,
        };
        // A negative index, seen as unsigned, is far beyond the end.
        let unsigned = ElementType::Dml(DataType::Uint64);
        let indices = Value { element: Some(unsigned), ..indices.clone() };
        let (all, total) = ([count(&shape)], [count(&output)]);
        let inputs = [(data, &all[..]), (&indices, &all[..])];
        let kind = Kind { element, shape: output.into() };
        let unpooled =
            write(operands, Use::Moved, &inputs, kind, &total, |mut it, output_tensor| {
                let [input_tensor, indices_tensor] = [it.remove(0), it.remove(0)];
                MaxUnpoolingDesc { input_tensor, indices_tensor, output_tensor }.into()
            })?;
        Ok(vec![unpooled])
    }
}

impl MaxUnpool {
    /// The windows along each spatial dimension.
    fn windows(&self, operands: &NodeInputs<'_>, shape: &[u64]) -> Result<Vec<Windows>> {
        let spatial = self.kernel.len();
        let wrong = |name: &str, given: usize, accepted: usize| {
            let (path, problem) = (format!("attribute {name}"), "is the wrong length");
            operands.node.invalid(&path, given, problem, accepted.to_string())
        };
        if shape.len() != spatial + 2 {
            return Err(wrong("kernel_shape", spatial, shape.len().saturating_sub(2)));
        }
        let strides = self.strides.clone().unwrap_or_else(|| vec![1; spatial]);
        let pads = self.pads.clone().unwrap_or_else(|| vec![0; 2 * spatial]);
        if strides.len() != spatial {
            return Err(wrong("strides", strides.len(), spatial));
        }
        if pads.len() != 2 * spatial {
            return Err(wrong("pads", pads.len(), 2 * spatial));
        }
        let of = |at: usize| Windows {
            count: shape[at + 2].into(),
            stride: strides[at].into(),
            kernel: self.kernel[at].into(),
            pads: i128::from(pads[at]) + i128::from(pads[at + spatial]),
        };
        Ok((0..spatial).map(of).collect())
    }
}

/// The sizes in the third input, which must have the batches and channels of `shape`, and room for an element
/// of every window, whatever the padding.
fn given_shape(operands: &NodeInputs<'_>, shape: &[u64], windows: &[Windows]) -> Result<Vec<u64>> {
    let given = operands.sizes(2, "output_shape")?;
    let least = windows.iter().map(|window| (window.count - 1) * window.stride + 2 - window.kernel);
    let least = least.map(|size| size.max(1));
    let fits = given.len() == shape.len()
        && given[..2] == shape[..2]
        && given[2..].iter().zip(least.clone()).all(|(size, least)| i128::from(*size) >= least);
    if fits {
        return Ok(given);
    }
    let least: Vec<String> = least.map(|size| size.to_string()).collect();
    let accepted = format!("{}, {}, and at least {}", shape[0], shape[1], least.join(", "));
    let problem = "is not what could have been pooled";
    Err(operands.node.invalid("output_shape", text(&given), problem, accepted))
}

/// The smallest shape that has these windows.
fn pooled_shape(operands: &NodeInputs<'_>, shape: &[u64], windows: &[Windows]) -> Result<Vec<u64>> {
    let mut pooled = shape[..2].to_vec();
    for Windows { count, stride, kernel, pads } in windows {
        let size = (count - 1) * stride + kernel - pads;
        pooled.push(u64::try_from(size).map_err(|_| {
            let accepted = "sizes of 0 and more that follow from them";
            operands.node.invalid("attribute pads", size, "is a size below 0", accepted)
        })?);
    }
    Ok(pooled)
}
