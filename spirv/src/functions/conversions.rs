//! Conversions between element types.

use super::{Function, Shape, f32, i32, low, word};
use crate::kernels::{F16, F64, INTEGERS, WIDE};

functions! {
    /// Half to single precision, exact.
    F16_TO_F32 = F16.f16_to_f32(1) Alike |a| half(a[0]).to_f32().to_bits().into();
    /// Single precision to the nearest half.
    F32_TO_F16 = F16.f32_to_f16(1) Alike |a| half::f16::from_f32(f32(a[0])).to_bits().into();
    /// The last 8 bits, as if they had been stored and loaded.
    ZERO_EXTEND_8 = INTEGERS.zero_extend_8(1) Alike |a| a[0] & 0xff;
    /// The last 16 bits, as if they had been stored and loaded.
    ZERO_EXTEND_16 = INTEGERS.zero_extend_16(1) Alike |a| a[0] & 0xffff;
    /// Sign-extends the low 4 bits.
    SIGN_EXTEND_4 = INTEGERS.sign_extend_4(1) Alike |a| word(i32(a[0]) << 28 >> 28);
    /// Sign-extends the low 8 bits.
    SIGN_EXTEND_8 = INTEGERS.sign_extend_8(1) Alike |a| word(i32(a[0]) << 24 >> 24);
    /// Sign-extends the low 16 bits.
    SIGN_EXTEND_16 = INTEGERS.sign_extend_16(1) Alike |a| word(i32(a[0]) << 16 >> 16);
    /// The nearest number in single precision.
    U32_TO_F32 = INTEGERS.u32_to_f32(1) Alike |a| (low(a[0]) as f32).to_bits().into();
    /// The nearest number in single precision.
    I32_TO_F32 = INTEGERS.i32_to_f32(1) Alike |a| (i32(a[0]) as f32).to_bits().into();
    /// Truncates towards 0 and clamps to the range; 0 for NaN.
    F32_TO_U32 = INTEGERS.f32_to_u32(1) Alike |a| (f32(a[0]) as u32).into();
    /// Truncates towards 0 and clamps to the range; 0 for NaN.
    F32_TO_I32 = INTEGERS.f32_to_i32(1) Alike |a| word(f32(a[0]) as i32);
    /// Clamps to the signed integers of 4 bits.
    CLAMP_I4 = INTEGERS.clamp_i4(1) Alike |a| word(i32(a[0]).clamp(-8, 7));
    /// Clamps to the unsigned integers of 4 bits.
    CLAMP_U4 = INTEGERS.clamp_u4(1) Alike |a| a[0].min(0xf);
    /// Clamps to the signed integers of 8 bits.
    CLAMP_I8 = INTEGERS.clamp_i8(1) Alike |a| word(i32(a[0]).clamp(-128, 127));
    /// Clamps to the signed integers of 16 bits.
    CLAMP_I16 = INTEGERS.clamp_i16(1) Alike |a| word(i32(a[0]).clamp(-32768, 32767));
    /// Clamps to the unsigned integers of 8 bits.
    CLAMP_U8 = INTEGERS.clamp_u8(1) Alike |a| a[0].min(0xff);
    /// Clamps to the unsigned integers of 16 bits.
    CLAMP_U16 = INTEGERS.clamp_u16(1) Alike |a| a[0].min(0xffff);
    /// Zero-extends 32 bits to 64.
    U32_TO_U64 = WIDE.u32_to_u64(1) Widening |a| a[0];
    /// Sign-extends 32 bits to 64.
    I32_TO_I64 = WIDE.i32_to_i64(1) Widening |a| i64::from(i32(a[0])).cast_unsigned();
    /// The low 32 bits.
    LOW_WORDS = WIDE.low_words(1) Narrowing |a| low(a[0]).into();
    /// The high 32 bits.
    HIGH_WORDS = WIDE.high_words(1) Narrowing |a| a[0] >> 32;
    /// The 64-bit element with the first argument as its low word, and the second as its high word.
    PAIR = WIDE.pair(2) Widening |a| a[0] | a[1] << 32;
    /// The nearest number in single precision.
    U64_TO_F32 = WIDE.u64_to_f32(1) Narrowing |a| (a[0] as f32).to_bits().into();
    /// The nearest number in single precision.
    I64_TO_F32 = WIDE.i64_to_f32(1) Narrowing |a| (a[0].cast_signed() as f32).to_bits().into();
    /// Truncates towards 0 and clamps to the range; 0 for NaN.
    F32_TO_U64 = WIDE.f32_to_u64(1) Widening |a| f32(a[0]) as u64;
    /// Truncates towards 0 and clamps to the range; 0 for NaN.
    F32_TO_I64 = WIDE.f32_to_i64(1) Widening |a| (f32(a[0]) as i64).cast_unsigned();
    /// The nearest number in single precision.
    F64_TO_F32 = F64.f64_to_f32(1) Narrowing |a| (f64(a[0]) as f32).to_bits().into();
    /// The nearest half, rounded once.
    F64_TO_F16 = F64.f64_to_f16(1) Narrowing |a| f64_to_f16(a[0]);
    /// Single to double precision, exact.
    F32_TO_F64 = F64.f32_to_f64(1) Widening |a| f64::from(f32(a[0])).to_bits();
    /// Integer to double precision, exact.
    U32_TO_F64 = F64.u32_to_f64(1) Widening |a| f64::from(low(a[0])).to_bits();
    /// Integer to double precision, exact.
    I32_TO_F64 = F64.i32_to_f64(1) Widening |a| f64::from(i32(a[0])).to_bits();
    /// The nearest number in double precision.
    U64_TO_F64 = F64.u64_to_f64(1) Alike |a| (a[0] as f64).to_bits();
    /// The nearest number in double precision.
    I64_TO_F64 = F64.i64_to_f64(1) Alike |a| (a[0].cast_signed() as f64).to_bits();
    /// Truncates towards 0 and clamps to the range; 0 for NaN.
    F64_TO_U64 = F64.f64_to_u64(1) Alike |a| f64(a[0]) as u64;
    /// Truncates towards 0 and clamps to the range; 0 for NaN.
    F64_TO_I64 = F64.f64_to_i64(1) Alike |a| (f64(a[0]) as i64).cast_unsigned();
    /// Truncates towards 0 and clamps to the range; 0 for NaN.
    F64_TO_U32 = F64.f64_to_u32(1) Narrowing |a| (f64(a[0]) as u32).into();
    /// Truncates towards 0 and clamps to the range; 0 for NaN.
    F64_TO_I32 = F64.f64_to_i32(1) Narrowing |a| word(f64(a[0]) as i32);
}

fn f64(bits: u64) -> f64 {
    f64::from_bits(bits)
}

fn half(bits: u64) -> half::f16 {
    half::f16::from_bits(bits as u16)
}

/// The nearest half of a double. The crate `half` drops the last 32 bits before it rounds.
fn f64_to_f16(bits: u64) -> u64 {
    let sticky = u64::from(low(bits) != 0) << 32;
    // Rounding only depends on whether any of the dropped bits is set.
    half::f16::from_f64(f64::from_bits(bits & !0xffff_ffff | sticky)).to_bits().into()
}
