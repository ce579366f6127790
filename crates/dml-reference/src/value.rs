//! Bits of elements given by attributes.

use dml_core::{DataType, Error, Validated};
use half::f16;

/// The bits of the scalar union `field`, in the type of `OutputTensor`.
pub(crate) fn from_scalar(operator: &Validated, field: &str) -> Result<u64, Error> {
    let bytes = operator.scalar(field)?.to_bytes();
    let size = operator.required_tensor("OutputTensor")?.data_type().bits() as usize / 8;
    Ok(bytes[..size].iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte)))
}

/// A FLOAT as an element. Rust's `as` truncates toward zero, saturates, and turns NaN into 0.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the meaning of `as` is the rule that the deviations document states"
)]
pub(crate) fn from_float(value: f32, data_type: DataType) -> u64 {
    match data_type {
        DataType::Float32 => value.to_bits().into(),
        DataType::Float16 | DataType::Float64 if value.is_nan() => {
            nan_bits(value.to_bits(), data_type)
        }
        DataType::Float16 => f16::from_f32(value).to_bits().into(),
        DataType::Float64 => f64::from(value).to_bits(),
        DataType::Uint64 => value as u64,
        DataType::Int64 => (value as i64).cast_unsigned(),
        DataType::Uint32 => (value as u32).into(),
        DataType::Int32 => (value as i32).cast_unsigned().into(),
        DataType::Uint16 => (value as u16).into(),
        DataType::Int16 => (value as i16).cast_unsigned().into(),
        DataType::Uint8 => (value as u8).into(),
        DataType::Int8 => (value as i8).cast_unsigned().into(),
        DataType::Uint4 | DataType::Int4 => {
            unreachable!("no operator with such a value takes 4-bit types")
        }
    }
}

/// A NaN keeps its sign and the upper bits of its payload, is not made quiet, and stays a NaN.
fn nan_bits(bits: u32, data_type: DataType) -> u64 {
    let (is_negative, payload) = (bits >> 31 == 1, bits & 0x7f_ffff);
    match data_type {
        DataType::Float16 => {
            u64::from(if is_negative { 0xfc00 } else { 0x7c00 } | (payload / 0x2000).max(1))
        }
        _ => {
            let infinity = if is_negative { f64::NEG_INFINITY } else { f64::INFINITY };
            infinity.to_bits() + u64::from(payload) * 0x2000_0000
        }
    }
}
