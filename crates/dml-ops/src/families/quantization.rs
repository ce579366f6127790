//! Quantization, dequantization and scaling by channel: each element is computed from the input's at the same
//! coordinates and from the scale, zero point or bias of its block.

mod dynamic;
mod lowering;
mod spaces;
#[cfg(test)]
mod tests;

use dml_core::operators;

use crate::Operator;

/// All operators of the family.
pub(crate) static OPERATORS: &[&Operator] =
    &[&VALUE_SCALE_2D, &QUANTIZE, &DEQUANTIZE, &DYNAMIC_QUANTIZE_LINEAR];

/// `Scale * x + Bias[channel]`.
static VALUE_SCALE_2D: Operator =
    Operator { schema: &operators::VALUE_SCALE_2D, program: lowering::value_scale };

/// `round(x / scale) + zero point`, limited to the output's type.
static QUANTIZE: Operator = Operator { schema: &operators::QUANTIZE, program: lowering::quantize };

/// `(x - zero point) * scale`.
static DEQUANTIZE: Operator =
    Operator { schema: &operators::DEQUANTIZE, program: lowering::dequantize };

/// As QUANTIZE, by a scale and a zero point that make the greatest and the least element ends of the integers.
static DYNAMIC_QUANTIZE_LINEAR: Operator =
    Operator { schema: &operators::DYNAMIC_QUANTIZE_LINEAR, program: dynamic::by_range };
