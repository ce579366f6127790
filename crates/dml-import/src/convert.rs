//! Conversions of single elements between types, as ONNX's Cast and OpenVINO's Convert define them.

use dml_core::DataType;
use dml_core::value::element_bits;
use half::{bf16, f16};

use crate::element::ElementType;
use crate::small_float::Rounding;

/// The bits of the element with `bits` of type `from`, as type `to`.
///
/// Integers wrap around, floats are truncated toward zero and saturate, everything but 0 is true. Floats
/// that become integers of fewer than 8 bits do so as 32-bit ones that wrap around. Numbers become bfloat16 and small
/// floats by way of FLOAT32, as on a device.
pub(crate) fn convert(bits: u64, from: ElementType, to: ElementType) -> u64 {
    convert_rounded(bits, from, to, Rounding::default())
}

/// [`convert`] with the rounding to small floats given.
pub(crate) fn convert_rounded(
    bits: u64,
    from: ElementType,
    to: ElementType,
    rounding: Rounding,
) -> u64 {
    if from == to {
        return bits;
    }
    if to.is_pattern() && from != ElementType::FLOAT32 {
        let single = convert(bits, from, ElementType::FLOAT32);
        return convert_rounded(single, ElementType::FLOAT32, to, rounding);
    }
    if let Some(format) = to.small_float() {
        return format.pattern(float(bits, from), rounding).into();
    }
    if to == ElementType::Bool {
        return u64::from(if from.is_integer() {
            integer(bits, from) != 0
        } else {
            float(bits, from) != 0.0
        });
    }
    if from.is_integer() {
        from_integer(integer(bits, from), to)
    } else {
        from_float(float(bits, from), to)
    }
}

/// The FLOAT that DirectML converts to exactly `bits` of `data_type`; `None` if there is no such FLOAT.
pub(crate) fn as_float(bits: u64, data_type: DataType) -> Option<f32> {
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "checked below"
    )]
    let value = match data_type {
        DataType::Float32 => f32::from_bits(u32::try_from(bits).ok()?),
        DataType::Float16 => half::f16::from_bits(u16::try_from(bits).ok()?).to_f32(),
        DataType::Float64 => f64::from_bits(bits) as f32,
        _ => {
            let value = integer(bits, ElementType::Dml(data_type));
            // A float beyond the type's end would only saturate to the same bits.
            Some(value as f32).filter(|float| *float as i128 == value)?
        }
    };
    (element_bits(value, data_type) == bits).then_some(value)
}

/// The value of an integer's bits.
pub(crate) fn integer(bits: u64, element: ElementType) -> i128 {
    storage(element).integer_value(bits).unwrap_or_default()
}

/// Types that tensors cannot have get UINT64; no element of them exists.
fn storage(element: ElementType) -> DataType {
    element.storage().unwrap_or(DataType::Uint64)
}

#[expect(clippy::cast_possible_truncation, reason = "the upper bits are no part of the element")]
pub(crate) fn float(bits: u64, element: ElementType) -> f64 {
    match element {
        ElementType::Dml(DataType::Float32) => f32::from_bits(bits as u32).into(),
        ElementType::Dml(DataType::Float16) => f16::from_bits(bits as u16).into(),
        ElementType::Bfloat16 => bf16::from_bits(bits as u16).into(),
        ElementType::Small(format) => format.value(bits as u8),
        _ => f64::from_bits(bits),
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "integers wrap around, and floats are rounded to nearest"
)]
pub(crate) fn from_integer(value: i128, to: ElementType) -> u64 {
    match to {
        ElementType::Dml(DataType::Float32) => (value as f32).to_bits().into(),
        ElementType::Dml(DataType::Float16) => f16::from_f64(value as f64).to_bits().into(),
        ElementType::Dml(DataType::Float64) => (value as f64).to_bits(),
        ElementType::Bfloat16 => bf16::from_f64(value as f64).to_bits().into(),
        ElementType::Small(_) => from_float(value as f64, to),
        // Only the lowest bits count; they are sign-extended in the byte that carries them.
        _ => {
            let narrow = to.narrow_integer();
            storage(to).integer_bits(narrow.map_or(value, |narrow| narrow.wrapped(value)))
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "rounds to nearest")]
pub(crate) fn from_float(value: f64, to: ElementType) -> u64 {
    match to {
        ElementType::Dml(DataType::Float32) => (value as f32).to_bits().into(),
        ElementType::Dml(DataType::Float16) => f16::from_f64(value).to_bits().into(),
        ElementType::Bfloat16 => bf16::from_f64(value).to_bits().into(),
        ElementType::Small(format) => format.pattern(value, Rounding::default()).into(),
        // The results of ONNX's node tests wrap around.
        narrow if narrow.narrow_integer().is_some() => {
            let whole = DataType::Int32.saturated_bits(value);
            from_integer(whole.map_or(0, |whole| integer(whole, ElementType::INT32)), to)
        }
        _ => storage(to).saturated_bits(value).unwrap_or(value.to_bits()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const U8: ElementType = ElementType::Dml(DataType::Uint8);
    const I8: ElementType = ElementType::Dml(DataType::Int8);

    #[test]
    fn integers_wrap_and_keep_their_sign() {
        assert_eq!(convert(300, ElementType::INT64, U8), 44);
        assert_eq!(convert(0xff, I8, ElementType::INT64), u64::MAX);
        assert_eq!(convert(0xff, U8, ElementType::INT64), 255);
        assert_eq!(convert(0xff, I8, ElementType::FLOAT32), u64::from((-1f32).to_bits()));
    }

    #[test]
    fn what_becomes_4_bits_wraps_around() {
        let float = |value: f32, to| convert(value.to_bits().into(), ElementType::FLOAT32, to);
        let both = |value| [float(value, ElementType::Int4), float(value, ElementType::Uint4)];
        assert_eq!(both(-9.9), [7, 7]);
        assert_eq!(both(8.5), [0xf8, 8]);
        assert_eq!(both(-1.0), [0xff, 15]);
        assert_eq!(both(1e20), [0xff, 15]);
        assert_eq!(both(f32::NAN), [0, 0]);
        assert_eq!(convert(0x1234_5678, ElementType::INT64, ElementType::Int4), 0xf8);
        assert_eq!(convert(0xf8, ElementType::Int4, ElementType::Uint4), 8);
        assert_eq!(convert(0xf8, ElementType::Int4, ElementType::INT64), (-8i64).cast_unsigned());
    }

    #[test]
    fn floats_are_truncated_and_saturate() {
        let f32_bits = |value: f32| u64::from(value.to_bits());
        assert_eq!(convert(f32_bits(-1.9), ElementType::FLOAT32, I8), 0xff);
        assert_eq!(convert(f32_bits(1e9), ElementType::FLOAT32, U8), 255);
        assert_eq!(convert(f32_bits(0.5), ElementType::FLOAT32, ElementType::Bool), 1);
        assert_eq!(convert(f32_bits(-0.0), ElementType::FLOAT32, ElementType::Bool), 0);
        assert_eq!(convert(f32_bits(1.0), ElementType::FLOAT32, ElementType::Bfloat16), 0x3F80);
    }

    #[test]
    fn a_float_is_found_exactly_where_there_is_one() {
        assert_eq!(as_float(0x3F80, DataType::Uint16), Some(16256.0));
        assert_eq!(as_float(u64::MAX, DataType::Int64), Some(-1.0));
        assert_eq!(as_float((1 << 24) + 1, DataType::Int32), None);
        assert_eq!(as_float(0.1f64.to_bits(), DataType::Float64), None);
        assert_eq!(as_float(i64::MAX.cast_unsigned(), DataType::Int64), None);
    }
}
