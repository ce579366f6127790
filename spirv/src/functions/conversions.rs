//! What makes elements of one type those of another.

use super::{Function, Shape, f32, i32, low, word};
use crate::kernels::{F16, F64, INTEGERS, WIDE};

functions! {
    /// The same number.
    F16_TO_F32 = F16.f16_to_f32(1) Alike |a| half(a[0]).to_f32().to_bits().into();
    /// The nearest half.
    F32_TO_F16 = F16.f32_to_f16(1) Alike |a| half::f16::from_f32(f32(a[0])).to_bits().into();
    /// The last 8 bits, as if they had been stored and loaded.
    ZERO_EXTEND_8 = INTEGERS.zero_extend_8(1) Alike |a| a[0] & 0xff;
    /// The last 16 bits, as if they had been stored and loaded.
    ZERO_EXTEND_16 = INTEGERS.zero_extend_16(1) Alike |a| a[0] & 0xffff;
    /// Repeats the sign of 4 bits in the others.
    SIGN_EXTEND_4 = INTEGERS.sign_extend_4(1) Alike |a| word(i32(a[0]) << 28 >> 28);
    /// Repeats the sign of 8 bits in the others.
    SIGN_EXTEND_8 = INTEGERS.sign_extend_8(1) Alike |a| word(i32(a[0]) << 24 >> 24);
    /// Repeats the sign of 16 bits in the others.
    SIGN_EXTEND_16 = INTEGERS.sign_extend_16(1) Alike |a| word(i32(a[0]) << 16 >> 16);
    /// The nearest number.
    U32_TO_F32 = INTEGERS.u32_to_f32(1) Alike |a| (low(a[0]) as f32).to_bits().into();
    /// The nearest number.
    I32_TO_F32 = INTEGERS.i32_to_f32(1) Alike |a| (i32(a[0]) as f32).to_bits().into();
    /// Towards 0, within the range; 0 for NaN.
    F32_TO_U32 = INTEGERS.f32_to_u32(1) Alike |a| (f32(a[0]) as u32).into();
    /// Towards 0, within the range; 0 for NaN.
    F32_TO_I32 = INTEGERS.f32_to_i32(1) Alike |a| word(f32(a[0]) as i32);
    /// The nearest integer of 4 bits.
    CLAMP_I4 = INTEGERS.clamp_i4(1) Alike |a| word(i32(a[0]).clamp(-8, 7));
    /// The nearest integer of 4 bits without a sign.
    CLAMP_U4 = INTEGERS.clamp_u4(1) Alike |a| a[0].min(0xf);
    /// The nearest integer of 8 bits.
    CLAMP_I8 = INTEGERS.clamp_i8(1) Alike |a| word(i32(a[0]).clamp(-128, 127));
    /// The nearest integer of 16 bits.
    CLAMP_I16 = INTEGERS.clamp_i16(1) Alike |a| word(i32(a[0]).clamp(-32768, 32767));
    /// The nearest integer of 8 bits without a sign.
    CLAMP_U8 = INTEGERS.clamp_u8(1) Alike |a| a[0].min(0xff);
    /// The nearest integer of 16 bits without a sign.
    CLAMP_U16 = INTEGERS.clamp_u16(1) Alike |a| a[0].min(0xffff);
    /// The same number.
    U32_TO_U64 = WIDE.u32_to_u64(1) Widening |a| a[0];
    /// The same number.
    I32_TO_I64 = WIDE.i32_to_i64(1) Widening |a| i64::from(i32(a[0])).cast_unsigned();
    /// The number's last 32 bits.
    LOW_WORDS = WIDE.low_words(1) Narrowing |a| low(a[0]).into();
    /// The number's first 32 bits.
    HIGH_WORDS = WIDE.high_words(1) Narrowing |a| a[0] >> 32;
    /// The number with these last and first 32 bits.
    PAIR = WIDE.pair(2) Widening |a| a[0] | a[1] << 32;
    /// The nearest number.
    U64_TO_F32 = WIDE.u64_to_f32(1) Narrowing |a| (a[0] as f32).to_bits().into();
    /// The nearest number.
    I64_TO_F32 = WIDE.i64_to_f32(1) Narrowing |a| (a[0].cast_signed() as f32).to_bits().into();
    /// Towards 0, within the range; 0 for NaN.
    F32_TO_U64 = WIDE.f32_to_u64(1) Widening |a| f32(a[0]) as u64;
    /// Towards 0, within the range; 0 for NaN.
    F32_TO_I64 = WIDE.f32_to_i64(1) Widening |a| (f32(a[0]) as i64).cast_unsigned();
    /// The nearest number.
    F64_TO_F32 = F64.f64_to_f32(1) Narrowing |a| (f64(a[0]) as f32).to_bits().into();
    /// The nearest half, at once.
    F64_TO_F16 = F64.f64_to_f16(1) Narrowing |a| f64_to_f16(a[0]);
    /// The same number.
    F32_TO_F64 = F64.f32_to_f64(1) Widening |a| f64::from(f32(a[0])).to_bits();
    /// The same number.
    U32_TO_F64 = F64.u32_to_f64(1) Widening |a| f64::from(low(a[0])).to_bits();
    /// The same number.
    I32_TO_F64 = F64.i32_to_f64(1) Widening |a| f64::from(i32(a[0])).to_bits();
    /// The nearest number.
    U64_TO_F64 = F64.u64_to_f64(1) Alike |a| (a[0] as f64).to_bits();
    /// The nearest number.
    I64_TO_F64 = F64.i64_to_f64(1) Alike |a| (a[0].cast_signed() as f64).to_bits();
    /// Towards 0, within the range; 0 for NaN.
    F64_TO_U64 = F64.f64_to_u64(1) Alike |a| f64(a[0]) as u64;
    /// Towards 0, within the range; 0 for NaN.
    F64_TO_I64 = F64.f64_to_i64(1) Alike |a| (f64(a[0]) as i64).cast_unsigned();
    /// Towards 0, within the range; 0 for NaN.
    F64_TO_U32 = F64.f64_to_u32(1) Narrowing |a| (f64(a[0]) as u32).into();
    /// Towards 0, within the range; 0 for NaN.
    F64_TO_I32 = F64.f64_to_i32(1) Narrowing |a| word(f64(a[0]) as i32);
}

fn f64(bits: u64) -> f64 {
    f64::from_bits(bits)
}

fn half(bits: u64) -> half::f16 {
    half::f16::from_bits(bits as u16)
}

/// `half` drops the last 32 bits of a double before it rounds.
fn f64_to_f16(bits: u64) -> u64 {
    let sticky = u64::from(low(bits) != 0) << 32;
    // Whether any of the dropped bits is set is all that rounding has to know of them.
    half::f16::from_f64(f64::from_bits(bits & !0xffff_ffff | sticky)).to_bits().into()
}
