//! Quantization and dequantization with a scale and a zero point.

use super::{Function, Shape, f32, i32, low};
use crate::kernels::{INTEGERS, ROUNDING};

functions! {
    /// `round(x / scale) + zero point`. Each step is rounded, the quotient to the nearest integer, ties to even.
    QUANTIZE_F32 = ROUNDING.quantize(3) Alike |a| {
        ((f32(a[0]) / f32(a[1])).round_ties_even() + f32(a[2])).to_bits().into()
    };
    /// The number as operands of sums and products are read: devices that flush subnormal numbers may give 0.
    AS_OPERAND_F32 = ROUNDING.as_operand(1) Alike |a| a[0];
    /// `(x - zero point) * scale` for signed integers of up to 32 bits and a scale in single precision:
    /// the difference is rounded once, and then the product.
    DEQUANTIZE_I32 = INTEGERS.dequantize_i32(3) Alike |a| {
        dequantized(i64::from(i32(a[0])) - i64::from(i32(a[2])), a[1])
    };
    /// As [`DEQUANTIZE_I32`], for unsigned integers.
    DEQUANTIZE_U32 = INTEGERS.dequantize_u32(3) Alike |a| {
        dequantized(a[0].cast_signed() - a[2].cast_signed(), a[1])
    };
    /// As [`DEQUANTIZE_I32`] and [`DEQUANTIZE_U32`], for integers of up to 16 bits: a float has their difference exactly.
    DEQUANTIZE_SMALL = INTEGERS.dequantize_small(3) Alike |a| {
        dequantized(i64::from(i32(a[0]).wrapping_sub(i32(a[2]))), a[1])
    };
    /// The first element, a byte, with one half replaced by the last 4 bits of the second: the low half if the
    /// parameter is 1, the high half if it is 16.
    WITH_HALF_BYTE = INTEGERS.with_half_byte(2; 1) Alike |a| {
        let unit = low(a[2]);
        let half = unit.wrapping_mul(0xf);
        (low(a[0]) & !half | unit.wrapping_mul(low(a[1]) & 0xf)).into()
    };
}

fn dequantized(difference: i64, scale: u64) -> u64 {
    (difference as f32 * f32(scale)).to_bits().into()
}
