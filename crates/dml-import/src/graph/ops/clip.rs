//! Clip: ELEMENT_WISE_CLIP1.

use dml_core::operators::ElementWiseClip1Desc;

use crate::element::{ElementType, scalar};
use crate::error::Result;
use crate::graph::dml;
use crate::graph::ops::function::Types;
use crate::graph::ops::operands::{ComputeLocation, Operator};
use crate::graph::ops::scalar::Scalar;
use crate::graph::ops::{Need, NodeInputs, Op};
use crate::graph::value::{Content, Value};
use crate::tensor::{Tensor, element_count, text};

/// The source of the bounds.
#[derive(Debug)]
pub(crate) enum Bounds {
    /// The bounds are attributes.
    Attributes { min: Option<f32>, max: Option<f32> },
    /// The bounds are the second and the third input, which may be left out.
    Inputs,
}

/// The elements clamped to a lower and an upper bound; the upper bound wins if it is the lesser one.
#[derive(Debug)]
pub(crate) struct Clip {
    pub(crate) bounds: Bounds,
}

impl Op for Clip {
    fn need(&self, input: usize) -> Need {
        if input == 0 { Need::Elements } else { Need::Host }
    }

    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let input = operands.value(0, "input")?;
        let kind = input.kind()?;
        let element = kind.element;
        if !Types::Numbers.contains(element) {
            let reason = format!("DirectML does not clip {element}");
            return Err(operands.node.not_supported(reason));
        }
        let (min, max) = match &self.bounds {
            Bounds::Attributes { min, max } => {
                let bits = |it: f32| Scalar::Float(it.into()).bits(element);
                (min.map(bits), max.map(bits))
            }
            Bounds::Inputs => {
                (bound(operands, 1, "min", element)?, bound(operands, 2, "max", element)?)
            }
        };
        let (lowest, highest) = ends(element);
        let (mut min, max) = (min.unwrap_or(lowest), max.unwrap_or(highest));
        let is_nan = |bits: &u64| Scalar::new(*bits, element).float().is_nan();
        if let Some(nan) = [min, max].into_iter().find(is_nan) {
            return Ok(vec![Value::fill(kind, nan)]);
        }
        if is_less(max, min, element) {
            min = max;
        }
        let clip = |bits| {
            if is_less(bits, min, element) {
                min
            } else if is_less(max, bits, element) {
                max
            } else {
                bits
            }
        };
        if let Content::Fill(bits) = input.content {
            return Ok(vec![Value::fill(kind, clip(bits))]);
        }
        let only = NodeInputs { values: vec![Some(input)], ..*operands };
        if only.place(element_count(&kind.shape), Operator::Present) == ComputeLocation::Host {
            let tensor = operands.read(input)?;
            let bits = tensor.bits().map(clip);
            return Ok(vec![Value::host(Tensor::of_bits(element, kind.shape.into_vec(), bits)?)]);
        }
        input.check()?;
        let (device, owner) = (operands.device, operands.owner);
        Ok(vec![dml::element_wise(device, owner, &[input], kind, |mut inputs, output_tensor| {
            let input_tensor = inputs.remove(0);
            Ok(ElementWiseClip1Desc {
                min_max_data_type: input_tensor.data_type,
                input_tensor,
                output_tensor,
                scale_bias: None,
                min: scalar(min),
                max: scalar(max),
            }
            .into())
        })])
    }
}

/// The bits of a bound that an input holds.
fn bound(
    operands: &NodeInputs<'_>,
    index: usize,
    name: &str,
    element: ElementType,
) -> Result<Option<u64>> {
    let Some(value) = operands.optional(index) else { return Ok(None) };
    operands.type_is(value.element()?, &[element], name)?;
    if element_count(value.shape()?) != Some(1) {
        let given = text(value.shape()?);
        return Err(operands.node.invalid(name, given, "is the wrong shape", "one element"));
    }
    Ok(operands.read(value)?.bits().next())
}

/// The bits of the least and of the greatest value of a type.
pub(super) fn ends(element: ElementType) -> (u64, u64) {
    let of_type = || element.storage().and_then(dml_core::DataType::integer_range);
    match element.range().or_else(of_type) {
        Some((least, most)) => {
            let bits = |value| Scalar::Integer(value).bits(element);
            (bits(least), bits(most))
        }
        None => {
            let bits = |value| Scalar::Float(value).bits(element);
            (bits(f64::NEG_INFINITY), bits(f64::INFINITY))
        }
    }
}

fn is_less(a: u64, b: u64, element: ElementType) -> bool {
    match (Scalar::new(a, element), Scalar::new(b, element)) {
        (Scalar::Integer(a), Scalar::Integer(b)) => a < b,
        (Scalar::Float(a), Scalar::Float(b)) => a < b,
        _ => false,
    }
}
