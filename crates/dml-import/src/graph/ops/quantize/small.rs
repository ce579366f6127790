//! Quantization to small floats and back.

use crate::element::ElementType;
use crate::error::Result;
use crate::graph::ops::NodeInputs;
use crate::graph::ops::arithmetic::{ADD, DIVIDE, MULTIPLY, SUBTRACT};
use crate::graph::ops::cast::{cast, cast_rounded};
use crate::graph::ops::element_wise::apply;
use crate::graph::value::Value;
use crate::small_float::{Rounding, SmallFloat};

/// Quotients of the first two values as small floats. Zero points of 8-bit floats have to be 0, and are not added, as
/// in ONNX's reference: a negative zero stays one.
pub(super) fn quantized(
    operands: &NodeInputs<'_>,
    [input, scale, zero_point]: &[Value; 3],
    to: ElementType,
    rounding: Rounding,
) -> Result<Value> {
    let mut quotient = apply(operands, DIVIDE, &[input.clone(), scale.clone()])?;
    if to == ElementType::Small(SmallFloat::E2m1) {
        let zero_point = cast(operands, zero_point, quotient.element()?)?;
        quotient = apply(operands, ADD, &[quotient, zero_point])?;
    }
    cast_rounded(operands, &quotient, to, rounding)
}

/// Small floats less their zero points, times their scales, as `to`, the type of the scales.
pub(super) fn dequantized(
    operands: &NodeInputs<'_>,
    [input, scale, zero_point]: &[Value; 3],
    to: ElementType,
) -> Result<Value> {
    let [input, zero_point] = [input, zero_point].map(|value| cast(operands, value, to));
    let difference = apply(operands, SUBTRACT, &[input?, zero_point?])?;
    apply(operands, MULTIPLY, &[difference, scale.clone()])
}
