//! Operators that carry a part of a sequence from one run to the next: CausalConvWithState and TensorScatter.

use dml_core::FieldValue;
use dml_core::operators::ACTIVATION_SWISH;
use smallvec::smallvec;

use crate::convert::from_integer;
use crate::element::ElementType;
use crate::error::Result;
use crate::graph::ops::arithmetic::{ADD, FLOOR_REMAINDER};
use crate::graph::ops::cast::cast;
use crate::graph::ops::concat::join;
use crate::graph::ops::element_wise::{ElementWise, apply};
use crate::graph::ops::function::{Function, Types};
use crate::graph::ops::split::parts;
use crate::graph::ops::table::numbers;
use crate::graph::ops::{AutoPad, Convolution, NodeInputs, Op, REAL, Scatter};
use crate::graph::value::{Kind, Value};
use crate::tensor::text;

/// A convolution of each channel that sees the current and earlier elements. Inputs are the data, the filters, a bias
/// and the last elements of the run before; outputs are the results, and the last elements of this run.
#[derive(Debug)]
pub(crate) struct CausalConvolution {
    /// Whether results are multiplied by their sigmoid.
    pub(crate) has_swish: bool,
}

impl Op for CausalConvolution {
    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let (input, filter) = (operands.value(0, "input")?, operands.value(1, "weight")?);
        let Kind { element, shape } = input.kind()?;
        let &[batches, channels, length] = shape.as_slice() else {
            let accepted = "[batches, channels, length]";
            return Err(operands.node.invalid(
                "input",
                text(&shape),
                "is the wrong shape",
                accepted,
            ));
        };
        let taps = filter.shape()?.last().copied().unwrap_or(0);
        operands.has_shape(filter, &[channels, 1, taps.max(1)], "weight")?;
        let kept = Kind { element, shape: smallvec![batches, channels, taps - 1] };
        let before = match operands.optional(3) {
            Some(before) => {
                operands.has_shape(before, &kept.shape, "past_state")?;
                before.clone()
            }
            None => Value::fill(kept.clone(), 0),
        };
        let all = join(operands, &[&before, input], 2, "input")?;
        let after = match kept.is_empty() {
            true => Value::empty(kept)?,
            false => parts(operands, &all, 2, &[length, taps - 1])?.remove(1),
        };
        let convolution = Convolution {
            form: &REAL,
            is_transposed: false,
            auto_pad: AutoPad::Given,
            groups: i64::try_from(channels).unwrap_or(i64::MAX),
            dilations: vec![],
            kernel: vec![],
            pads: vec![],
            strides: vec![],
            output_padding: vec![],
            output_shape: vec![],
        };
        let of = NodeInputs {
            values: vec![Some(&all), Some(filter), operands.optional(2)],
            ..*operands
        };
        let mut result = convolution.evaluate(&of)?.remove(0);
        if self.has_swish {
            let swish = ElementWise::new(Function::new(Types::Numbers, &ACTIVATION_SWISH));
            let swish = ElementWise { attributes: vec![FieldValue::Float(1.0)], ..swish };
            result = swish.apply(operands, &[result])?;
        }
        Ok(vec![result, after])
    }
}

/// The first input, a cache, with the elements of the second one along an axis, from the index on that the third
/// input has for each batch.
#[derive(Debug)]
pub(crate) struct CacheUpdate {
    pub(crate) axis: i64,
    /// Whether indices beyond the end continue at the beginning.
    pub(crate) is_circular: bool,
}

impl Op for CacheUpdate {
    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let (cache, update) = (operands.value(0, "past_cache")?, operands.value(1, "update")?);
        let (shape, given) = (cache.shape()?, update.shape()?);
        let axis = operands.axis(self.axis, shape.len(), "attribute axis")?;
        if axis == 0 {
            let (problem, accepted) = ("is the dimension of batches", "any other dimension");
            return Err(operands.node.invalid("attribute axis", self.axis, problem, accepted));
        }
        let fits = given.len() == shape.len()
            && (0..shape.len())
                .all(|at| given[at] == shape[at] || at == axis && given[at] < shape[at]);
        if !fits {
            let (given, accepted) =
                (text(given), format!("{}, or fewer along the axis", text(shape)));
            return Err(operands.node.invalid("update", given, "is the wrong shape", accepted));
        }
        let (batches, length, capacity) = (shape[0], given[axis], shape[axis]);
        let along = |size: u64, at: usize| {
            let mut along = vec![1; shape.len()];
            along[at] = size;
            along
        };
        let mut indices = numbers(operands, ElementType::INT64, &along(length, axis))?;
        if let Some(first) = operands.optional(2) {
            operands.has_shape(first, &[batches], "write_indices")?;
            let first = cast(operands, first, ElementType::INT64)?;
            let first = operands.reshaped(&first, &along(batches, 0))?;
            indices = apply(operands, ADD, &[indices, first])?;
        }
        if self.is_circular {
            let capacity = from_integer(capacity.into(), ElementType::INT64);
            let capacity = Value::scalar(ElementType::INT64, capacity);
            indices = apply(operands, FLOOR_REMAINDER, &[indices, capacity])?;
        }
        let indices = indices.broadcast(given);
        let of =
            NodeInputs { values: vec![Some(cache), Some(&indices), Some(update)], ..*operands };
        Scatter::Elements { axis: self.axis }.evaluate(&of)
    }
}
