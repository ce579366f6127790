//! Conversions to another type.

mod patterns;

use dml_core::DataType;
use dml_core::operators::{CastDesc, ElementWiseIfDesc, ElementWiseLogicalLessThanDesc};

use crate::convert::{convert, convert_rounded};
use crate::element::{ElementType, NarrowInteger};
use crate::error::Result;
use crate::graph::device::no_counterpart;
use crate::graph::dml;
use crate::graph::ops::arithmetic::{BIT_AND, BIT_XOR, SUBTRACT};
use crate::graph::ops::element_wise::ElementWise;
use crate::graph::ops::function::Types;
use crate::graph::ops::matrix::write_band;
use crate::graph::ops::operands::{ComputeLocation, Operator};
use crate::graph::ops::{Need, NodeInputs, Op};
use crate::graph::value::{Content, Kind, Value};
use crate::small_float::Rounding;
use crate::tensor::{Tensor, element_count};

/// The input converted to another type: integers wrap around, floats are truncated toward zero and saturate,
/// and everything but 0 is true. Floats become integers of fewer than 8 bits by way of 32-bit ones.
#[derive(Debug)]
pub(crate) struct Cast {
    pub(crate) to: ElementType,
    pub(crate) rounding: Rounding,
}

impl Op for Cast {
    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let input = operands.value(0, "input")?;
        cast_rounded(operands, input, self.to, self.rounding).map(|it| vec![it])
    }
}

/// The first input converted to the type of the second one.
#[derive(Debug)]
pub(crate) struct CastLike {
    pub(crate) rounding: Rounding,
}

impl Op for CastLike {
    fn need(&self, input: usize) -> Need {
        if input == 1 { Need::Shape } else { Need::Elements }
    }

    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let to = operands.value(1, "target_type")?.element()?;
        let only = NodeInputs { values: vec![operands.optional(0)], ..*operands };
        cast_rounded(&only, operands.value(0, "input")?, to, self.rounding).map(|it| vec![it])
    }
}

/// `input` as another type.
pub(super) fn cast(operands: &NodeInputs<'_>, input: &Value, to: ElementType) -> Result<Value> {
    cast_rounded(operands, input, to, Rounding::default())
}

/// `input` as another type, with the rounding to small floats given.
pub(super) fn cast_rounded(
    operands: &NodeInputs<'_>,
    input: &Value,
    to: ElementType,
    rounding: Rounding,
) -> Result<Value> {
    let Kind { element: from, shape } = input.kind()?;
    if let Some(other) = [from, to].into_iter().find(|it| it.storage().is_none()) {
        return Err(no_counterpart(operands.node, other));
    }
    if from == to {
        return Ok(input.clone());
    }
    let kind = Kind { element: to, shape };
    if let Content::Fill(bits) = input.content {
        return Ok(Value::fill(kind, convert_rounded(bits, from, to, rounding)));
    }
    // A band is written in the new type directly: 0 converts to 0 in every type.
    if let Some(view) = input.view().filter(|view| view.strides.is_none())
        && let Some(mut band) = operands.device.band(&view.storage)
    {
        band.bits = convert(band.bits, from, to);
        return Ok(write_band(operands, kind, band, None));
    }
    let is_converted = to != ElementType::Bool || is_compared(from) || from.is_pattern();
    let operator = if is_converted { Operator::Present } else { Operator::Replaceable };
    let is_on_device = input.view().is_some_and(|view| view.storage.is_on_device());
    if !is_on_device
        && operands.place(element_count(&kind.shape), operator) == ComputeLocation::Host
    {
        let bits = operands.read(input)?;
        let bits = bits.bits().map(|bits| convert_rounded(bits, from, to, rounding));
        return Tensor::of_bits(to, kind.shape.into_vec(), bits).map(Value::host);
    }
    input.check()?;
    if !is_converted {
        let reason = format!("a device does not convert {from} to {to}");
        return Err(operands.node.not_supported(reason));
    }
    if from.is_pattern() {
        let single = patterns::unpacked(operands, input)?;
        return cast_rounded(operands, &single, to, rounding);
    }
    if to.is_pattern() {
        let single = cast(operands, input, ElementType::FLOAT32)?;
        return patterns::packed(operands, &single, to, rounding);
    }
    if to == ElementType::Bool {
        return truth(operands, input, from, kind);
    }
    if let Some(narrow) = to.narrow_integer() {
        return narrowed(operands, input, from, (kind, narrow));
    }
    // A truth value is 0 or 1 in the type that carries it.
    Ok(converted(operands, input, kind))
}

/// Converts between the DirectML types that carry `input` and `kind`.
fn converted(operands: &NodeInputs<'_>, input: &Value, kind: Kind) -> Value {
    let (device, owner) = (operands.device, operands.owner);
    dml::element_wise(device, owner, &[input], kind, |mut inputs, output_tensor| {
        Ok(CastDesc { input_tensor: inputs.remove(0), output_tensor }.into())
    })
}

/// The lowest bits of each element as an integer; a float is converted to a 32-bit integer first.
fn narrowed(
    operands: &NodeInputs<'_>,
    input: &Value,
    from: ElementType,
    (kind, narrow): (Kind, NarrowInteger),
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
    let low = apply(BIT_AND, &byte, (1 << narrow.bits) - 1)?;
    if !narrow.is_signed {
        return Ok(Value { element: Some(element), ..low });
    }
    // Sign extension: flipping the highest of 4 bits maps 8..15 to 0..7, and subtracting 8 gives -8..-1.
    // More feature levels support subtraction with 32 bits than with 8.
    let highest = 1 << (narrow.bits - 1);
    let turned = converted(operands, &apply(BIT_XOR, &low, highest)?, of(ElementType::INT32));
    Ok(converted(operands, &apply(SUBTRACT, &turned, highest)?, kind))
}

/// The bits of the input reinterpreted as another type of the same width.
#[derive(Debug)]
pub(crate) struct BitCast {
    pub(crate) to: ElementType,
}

impl Op for BitCast {
    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let (input, to) = (operands.value(0, "input")?, self.to);
        let from = input.element()?;
        if let Some(other) = [from, to].into_iter().find(|it| it.storage().is_none()) {
            return Err(no_counterpart(operands.node, other));
        }
        let packed_bits = ElementType::packed_bits;
        if from.size() != to.size() || packed_bits(from) != packed_bits(to) {
            let accepted = format!("a type as wide as {from}");
            return Err(operands.node.invalid("attribute to", to, "is another width", accepted));
        }
        // The bytes that carry integers of fewer than 8 bits are sign-extended, so they are converted.
        if to.narrow_integer().is_some() && from.narrow_integer().is_some() {
            return cast(operands, input, to).map(|it| vec![it]);
        }
        if packed_bits(to).is_some() && from != to {
            let reason = format!("the bytes that carry {from} and {to} differ in their high bits");
            return Err(operands.node.not_supported(reason));
        }
        if to == ElementType::Bool && from != to {
            let kind = input.kind()?;
            if operands.place(element_count(&kind.shape), Operator::Replaceable)
                != ComputeLocation::Host
            {
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
    let is_number = Types::Numbers.contains(element) || element.narrow_integer().is_some();
    is_number && element != ElementType::Dml(DataType::Float64)
}

/// Whether each element is not 0, which is true for NaN: it is less than 0, or not less than the least positive
/// number.
fn truth(operands: &NodeInputs<'_>, input: &Value, from: ElementType, kind: Kind) -> Result<Value> {
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
