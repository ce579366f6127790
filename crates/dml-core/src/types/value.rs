//! Conversion of an operator's FLOAT attribute to the bits of an element.

use half::f16;

use crate::types::DataType;

const F32_MANTISSA_BITS: u32 = 23;
const F16_MANTISSA_BITS: u32 = 10;
const F64_MANTISSA_BITS: u32 = 52;

/// The bits of an element of type `data_type` that holds `value`, in the low bits of the result.
///
/// - Integers: truncated toward zero, saturated at the ends of the type; NaN becomes 0.
/// - FLOAT16: rounded to nearest, ties to even; overflow becomes an infinity.
/// - FLOAT32 and FLOAT64: exact.
/// - The sign of zero is kept. A NaN stays a NaN with its sign and as many of its payload's upper
///   bits as the type has; the lowest one is set if the payload would become 0.
///
/// DirectML only says that a value "might be truncated"; `docs/deviations.md` records the choice.
pub fn element_bits(value: f32, data_type: DataType) -> u64 {
    match data_type {
        DataType::Float32 => value.to_bits().into(),
        DataType::Float16 => f16_bits(value).into(),
        DataType::Float64 => f64_bits(value),
        integer => integer.saturated_bits(value.into()).unwrap_or_default(),
    }
}

// Conversions of NaN are written out, because hardware differs in the payload.
fn f16_bits(value: f32) -> u16 {
    if !value.is_nan() {
        return f16::from_f32(value).to_bits();
    }
    let bits = value.to_bits();
    let payload = (bits >> (F32_MANTISSA_BITS - F16_MANTISSA_BITS)) & 0x3ff;
    let sign = (bits >> 16) & 0x8000;
    let half = sign | 0x7c00 | payload.max(1);
    u16::try_from(half).expect("sign, exponent and payload fill 16 bits")
}

fn f64_bits(value: f32) -> u64 {
    if !value.is_nan() {
        return f64::from(value).to_bits();
    }
    let bits = u64::from(value.to_bits());
    let payload = (bits & 0x7f_ffff) << (F64_MANTISSA_BITS - F32_MANTISSA_BITS);
    let sign = (bits >> 31) << 63;
    sign | 0x7ff0_0000_0000_0000 | payload
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(data_type: DataType, cases: &[(f32, u64)]) {
        for (value, bits) in cases {
            let found = element_bits(*value, data_type);
            assert_eq!(found, *bits, "{value} as {data_type}: {found:#x}, not {bits:#x}");
        }
    }

    #[test]
    fn integers_truncate_toward_zero() {
        check(DataType::Int32, &[(10.6, 10), (-10.6, 0xffff_fff6), (0.99, 0), (-0.99, 0)]);
        check(DataType::Uint8, &[(10.6, 10), (255.9, 255), (0.5, 0), (-0.5, 0)]);
    }

    #[test]
    fn integers_saturate_at_both_ends() {
        check(DataType::Int8, &[(127.0, 0x7f), (128.0, 0x7f), (-128.0, 0x80), (-129.0, 0x80)]);
        check(DataType::Uint8, &[(256.0, 0xff), (-1.0, 0), (f32::INFINITY, 0xff)]);
        check(DataType::Int16, &[(32768.0, 0x7fff), (-32769.0, 0x8000)]);
        check(DataType::Uint16, &[(65535.0, 0xffff), (65536.0, 0xffff), (-7.0, 0)]);
        check(DataType::Int32, &[(2_147_483_648.0, 0x7fff_ffff), (-3e9, 0x8000_0000)]);
        check(DataType::Uint32, &[(4_294_967_296.0, 0xffff_ffff), (-3e9, 0)]);
        let least = 1 << 63;
        check(DataType::Int64, &[(1e19, least - 1), (-1e19, least), (f32::NEG_INFINITY, least)]);
        check(DataType::Uint64, &[(2e19, u64::MAX), (-1.0, 0), (f32::INFINITY, u64::MAX)]);
        check(DataType::Uint4, &[(15.0, 15), (16.0, 15), (300.0, 15), (-1.0, 0)]);
        check(DataType::Int4, &[(7.0, 7), (8.0, 7), (-8.0, 8), (-9.0, 8), (-300.0, 8)]);
    }

    #[test]
    fn integers_hold_what_a_float_can_say() {
        check(DataType::Int64, &[(9_223_371_487_098_961_920.0, 0x7fff_ff80_0000_0000)]);
        check(DataType::Uint64, &[(18_446_742_974_197_923_840.0, 0xffff_ff00_0000_0000)]);
        check(DataType::Uint32, &[(4_294_967_040.0, 0xffff_ff00)]);
    }

    #[test]
    fn nan_becomes_zero_in_integers() {
        for data_type in DataType::ALL.into_iter().filter(|t| !t.name().starts_with("FLOAT")) {
            check(data_type, &[(f32::NAN, 0), (-f32::NAN, 0)]);
        }
    }

    #[test]
    fn float16_rounds_to_nearest_even_and_overflows_to_infinity() {
        check(
            DataType::Float16,
            &[
                (1.0, 0x3c00),
                (-0.0, 0x8000),
                (1.0 + f32::EPSILON, 0x3c00),
                (2049.0, 0x6800),
                (2051.0, 0x6802),
                (65504.0, 0x7bff),
                (65519.996, 0x7bff),
                (65520.0, 0x7c00),
                (-1e6, 0xfc00),
                (5.960_464_5e-8, 0x0001),
                (2.980_232_2e-8, 0x0000),
                (2.980_232_6e-8, 0x0001),
            ],
        );
    }

    #[test]
    fn float32_and_float64_are_exact() {
        check(DataType::Float32, &[(-0.0, 0x8000_0000), (1e-45, 1), (0.1, 0x3dcc_cccd)]);
        let tenth = f64::from(0.1f32).to_bits();
        check(DataType::Float64, &[(-0.0, 1 << 63), (0.1, tenth), (f32::INFINITY, 0x7ff << 52)]);
        check(DataType::Float64, &[(1e-45, 0x36a0_0000_0000_0000)]);
    }

    #[test]
    fn nan_keeps_sign_and_payload() {
        let quiet = f32::from_bits(0xffd5_5555);
        let signalling = f32::from_bits(0x7f80_0001);
        check(DataType::Float32, &[(quiet, 0xffd5_5555), (signalling, 0x7f80_0001)]);
        check(DataType::Float16, &[(quiet, 0xfeaa), (signalling, 0x7c01)]);
        check(
            DataType::Float64,
            &[(quiet, 0xfffa_aaaa_a000_0000), (signalling, 0x7ff0_0000_2000_0000)],
        );
    }
}
