//! Conversions to another type.

use dml_core::DataType;
use dml_core::operators::{CastDesc, ElementWiseIfDesc, ElementWiseLogicalLessThanDesc};

use crate::convert::convert;
use crate::element::ElementType;
use crate::error::Result;
use crate::graph::device::no_counterpart;
use crate::graph::dml;
use crate::graph::ops::arithmetic::{BIT_AND, BIT_XOR, SUBTRACT};
use crate::graph::ops::element_wise::ElementWise;
use crate::graph::ops::function::Types;
use crate::graph::ops::matrix::write_band;
use crate::graph::ops::operands::{Operator, Place};
use crate::graph::ops::{Need, Op, Operands};
use crate::graph::value::{Content, Kind, Value};
use crate::tensor::element_count;

/// The input converted to another type: integers wrap around, floats are truncated toward zero and saturate,
/// and everything but 0 is true. Floats become 4-bit integers by way of 32-bit ones.
#[derive(Debug)]
pub(crate) struct Cast {
    pub(crate) to: ElementType,
}

impl Op for Cast {
    fn evaluate(&self, operands: &Operands<'_>) -> Result<Vec<Value>> {
        cast(operands, operands.value(0, "input")?, self.to).map(|it| vec![it])
    }
}

/// The first input converted to the type of the second one.
#[derive(Debug)]
pub(crate) struct CastLike;

impl Op for CastLike {
    fn need(&self, input: usize) -> Need {
        if input == 1 { Need::Shape } else { Need::Elements }
    }

    fn evaluate(&self, operands: &Operands<'_>) -> Result<Vec<Value>> {
        let to = operands.value(1, "target_type")?.element()?;
        let only = Operands { values: vec![operands.optional(0)], ..*operands };
        cast(&only, operands.value(0, "input")?, to).map(|it| vec![it])
    }
}

/// `input` as another type.
pub(super) fn cast(operands: &Operands<'_>, input: &Value, to: ElementType) -> Result<Value> {
    let Kind { element: from, shape } = input.kind()?;
    let is_unknown = |it: &ElementType| it.storage().is_none() || it.is_pattern() && from != to;
    if let Some(other) = [from, to].into_iter().find(is_unknown) {
        return Err(no_counterpart(operands.node, other));
    }
    if from == to {
        return Ok(input.clone());
    }
    let kind = Kind { element: to, shape };
    if let Content::Fill(bits) = input.content {
        return Ok(Value::fill(kind, convert(bits, from, to)));
    }
    // A band is written in the new type directly: 0 converts to 0 in every type.
    if let Some(view) = input.view().filter(|it| it.strides.is_none())
        && let Some(mut band) = operands.device.band(&view.storage)
    {
        band.bits = convert(band.bits, from, to);
        return Ok(write_band(operands, kind, band, None));
    }
    let is_converted = ![from, to].contains(&ElementType::Bfloat16)
        && (to != ElementType::Bool || is_compared(from));
    let operator = if is_converted { Operator::Present } else { Operator::Replaceable };
    if operands.place(element_count(&kind.shape), operator) == Place::Host {
        let tensor = operands.read(input)?.converted(to)?;
        return Ok(Value::host(tensor));
    }
    input.check()?;
    if !is_converted {
        let reason = format!("a device does not convert {from} to {to}");
        return Err(operands.node.not_supported(reason));
    }
    if to == ElementType::Bool {
        return truth(operands, input, from, kind);
    }
    if to.half_byte().is_some() {
        return half_byte(operands, input, from, kind);
    }
    // A truth value is 0 or 1 in the type that carries it.
    Ok(converted(operands, input, kind))
}

/// Converts between the DirectML types that carry `input` and `kind`.
fn converted(operands: &Operands<'_>, input: &Value, kind: Kind) -> Value {
    let (device, owner) = (operands.device, operands.owner);
    dml::element_wise(device, owner, &[input], kind, |mut inputs, output_tensor| {
        Ok(CastDesc { input_tensor: inputs.remove(0), output_tensor }.into())
    })
}

/// The lower 4 bits of each element as an integer; a float is converted to a 32-bit integer first.
fn half_byte(
    operands: &Operands<'_>,
    input: &Value,
    from: ElementType,
    kind: Kind,
) -> Result<Value> {
    const BYTE: ElementType = ElementType::Dml(DataType::Uint8);
    let of = |element| Kind { element, shape: kind.shape.clone() };
    let (element, whole) = (kind.element, converted(operands, input, of(ElementType::INT32)));
    let whole = if from.is_integer() { input } else { &whole };
    let byte = match from.storage() {
        Some(DataType::Uint8) => Value { element: Some(BYTE), ..whole.clone() },
        _ => converted(operands, whole, of(BYTE)),
    };
    let apply = |function, value: &Value, bits| {
        let element = value.element()?;
        let other = Value::scalar(element, bits);
        ElementWise::new(function).apply(operands, &[value.clone(), other])
    };
    let low = apply(BIT_AND, &byte, 15)?;
    if element == ElementType::Uint4 {
        return Ok(Value { element: Some(element), ..low });
    }
    // Sign extension: flipping the highest of the 4 bits maps 8..15 to 0..7, and subtracting 8 gives -8..-1.
    // More feature levels support subtraction with 32 bits than with 8.
    let turned = converted(operands, &apply(BIT_XOR, &low, 8)?, of(ElementType::INT32));
    Ok(converted(operands, &apply(SUBTRACT, &turned, 8)?, kind))
}

/// The bits of the input reinterpreted as another type of the same width.
#[derive(Debug)]
pub(crate) struct BitCast {
    pub(crate) to: ElementType,
}

impl Op for BitCast {
    fn evaluate(&self, operands: &Operands<'_>) -> Result<Vec<Value>> {
        let (input, to) = (operands.value(0, "input")?, self.to);
        let from = input.element()?;
        if let Some(other) = [from, to].into_iter().find(|it| it.storage().is_none()) {
            return Err(no_counterpart(operands.node, other));
        }
        let is_half = |it: ElementType| it.half_byte().is_some();
        if from.size() != to.size() || is_half(from) != is_half(to) {
            let accepted = format!("a type as wide as {from}");
            return Err(operands.node.invalid("attribute to", to, "is another width", accepted));
        }
        // The bytes that carry 4-bit integers are sign-extended, so they are converted.
        if is_half(to) {
            return cast(operands, input, to).map(|it| vec![it]);
        }
        if to == ElementType::Bool && from != to {
            let kind = input.kind()?;
            if operands.place(element_count(&kind.shape), Operator::Replaceable) != Place::Host {
                let reason = "a truth value is 0 or 1, which a device does not check";
                return Err(operands.node.not_supported(reason));
            }
            return Ok(vec![Value::host(operands.read(input)?.cast_bits(to)?)]);
        }
        Ok(vec![Value { element: Some(to), ..input.clone() }])
    }
}

/// Whether DirectML compares elements of this type.
fn is_compared(element: ElementType) -> bool {
    let is_number = Types::Numbers.contains(element) || element.half_byte().is_some();
    is_number && element != ElementType::Dml(DataType::Float64)
}

/// Whether each element is not 0, which is true for NaN: it is less than 0, or not less than the least positive
/// number.
fn truth(operands: &Operands<'_>, input: &Value, from: ElementType, kind: Kind) -> Result<Value> {
    let (device, owner) = (operands.device, operands.owner);
    // The least positive integer and the least positive float both have the bits of integer 1.
    let constant = |element, bits| Value::scalar(element, bits);
    let (zero, least) = (constant(from, 0), constant(from, 1));
    let [no, yes] = [0, 1].map(|bits| constant(ElementType::Bool, bits));
    let below = |limit: &Value| {
        dml::element_wise(device, owner, &[input, limit], kind.clone(), |mut inputs, output| {
            let b_tensor = inputs.remove(1);
            let a_tensor = inputs.remove(0);
            Ok(ElementWiseLogicalLessThanDesc { a_tensor, b_tensor, output_tensor: output }.into())
        })
    };
    let choose = |condition: &Value, a: &Value, b: &Value| {
        dml::element_wise(device, owner, &[condition, a, b], kind.clone(), |inputs, output| {
            let [condition_tensor, a_tensor, b_tensor] = <[_; 3]>::try_from(inputs)
                .map_err(|_| operands.node.not_supported("three tensors are needed"))?;
            let output_tensor = output;
            Ok(ElementWiseIfDesc { condition_tensor, a_tensor, b_tensor, output_tensor }.into())
        })
    };
    let is_zero_or_below = below(&least);
    let is_above = choose(&is_zero_or_below, &no, &yes);
    Ok(choose(&below(&zero), &yes, &is_above))
}
