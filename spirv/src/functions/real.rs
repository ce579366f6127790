//! Roots, reciprocals, means, remainders, numbers as integers, and what numbers are.

use super::arithmetic::maximum;
use super::{Function, Shape, f32, i32, low, word};
use crate::kernels::{F32, INTEGERS, ROUNDING, WIDE};

functions! {
    /// Rounds down to an integer.
    FLOOR_F32 = ROUNDING.round_down(1) Alike |a| f32(a[0]).floor().to_bits().into();
    /// Rounds up to an integer.
    CEIL_F32 = ROUNDING.round_up(1) Alike |a| f32(a[0]).ceil().to_bits().into();
    /// Rounds to an integer, as the parameter says: DML_ROUNDING_MODE.
    ROUND_F32 = ROUNDING.round_by(1; 1) Alike |a| {
        let x = f32(a[0]);
        (match a[1] { 0 => x.round_ties_even(), 1 => x.trunc(), _ => x.round() }).to_bits().into()
    };
    /// The square root, rounded to nearest; of less than 0 a NaN.
    SQUARE_ROOT_F32 = F32.square_root(1) Alike |a| f32(a[0]).sqrt().to_bits().into();
    /// 1 divided by the number, rounding to nearest.
    RECIPROCAL_F32 = F32.reciprocal(1) Alike |a| (1.0 / f32(a[0])).to_bits().into();
    /// Half the sum of two numbers, rounded once to nearest.
    MEAN_F32 = F32.mean(2) Alike |a| {
        let sum = f64::from(f32(a[0])) + f64::from(f32(a[1]));
        ((sum / 2.0) as f32).to_bits().into()
    };
    /// Half the sum of integers of up to 32 bits, truncated; the sum does not wrap.
    MEAN_I32 = INTEGERS.mean_i32(2) Alike |a| word(((i64::from(i32(a[0])) + i64::from(i32(a[1]))) / 2) as i32);
    /// The same without a sign.
    MEAN_U32 = INTEGERS.mean_u32(2) Alike |a| (a[0] + a[1]) / 2;
    /// What division that truncates leaves of the first number, with its sign; exact.
    MODULUS_TRUNCATE_F32 = F32.modulus_truncate(2) Alike |a| (f32(a[0]) % f32(a[1])).to_bits().into();
    /// The same with integers of up to 32 bits; 0 of what is divided by 0.
    MODULUS_TRUNCATE_I32 = INTEGERS.modulus_truncate_i32(2) Alike |a| word(match i32(a[1]) {
        0 => 0,
        divisor => i32(a[0]).wrapping_rem(divisor),
    });
    /// The same without a sign.
    MODULUS_U32 = INTEGERS.modulus_u32(2) Alike |a| a[0].checked_rem(a[1]).unwrap_or(0);
    /// The same with integers of 64 bits.
    MODULUS_TRUNCATE_I64 = WIDE.modulus_truncate_i64(2) Alike |a| match a[1].cast_signed() {
        0 => 0,
        divisor => a[0].cast_signed().wrapping_rem(divisor).cast_unsigned(),
    };
    /// The same without a sign.
    MODULUS_U64 = WIDE.modulus_u64(2) Alike |a| a[0].checked_rem(a[1]).unwrap_or(0);
    /// What division that rounds down leaves of the first number, with the second one's sign; rounded once.
    MODULUS_FLOOR_F32 = F32.modulus_floor(2) Alike |a| {
        let (rest, divisor) = (f32(a[0]) % f32(a[1]), f32(a[1]));
        let differs = rest.is_sign_negative() != divisor.is_sign_negative();
        let with_sign = if rest == 0.0 { rest.copysign(divisor) } else { rest };
        (if differs && rest != 0.0 { rest + divisor } else { with_sign }).to_bits().into()
    };
    /// The same with integers of up to 32 bits; 0 of what is divided by 0.
    MODULUS_FLOOR_I32 = INTEGERS.modulus_floor_i32(2) Alike |a| {
        word(modulus_floor(i32(a[0]).into(), i32(a[1]).into()) as i32)
    };
    /// The same with integers of 64 bits.
    MODULUS_FLOOR_I64 = WIDE.modulus_floor_i64(2) Alike |a| {
        modulus_floor(a[0].cast_signed().into(), a[1].cast_signed().into()) as u64
    };
    /// The number, at least the parameter; a NaN where one of them is.
    THRESHOLD_F32 = F32.threshold(1; 1) Alike |a| maximum(a[0], a[1]);
    /// The same with integers of up to 32 bits.
    THRESHOLD_I32 = INTEGERS.threshold_i32(1; 1) Alike |a| word(i32(a[0]).max(i32(a[1])));
    /// The same without a sign.
    THRESHOLD_U32 = INTEGERS.threshold_u32(1; 1) Alike |a| a[0].max(a[1]);
    /// -1, 0 or 1 by the sign of a number; 0 of a NaN.
    SIGN_F32 = F32.sign_of(1) Alike |a| match f32(a[0]) {
        x if x > 0.0 => 1.0_f32.to_bits().into(),
        x if x < 0.0 => (-1.0_f32).to_bits().into(),
        _ => 0,
    };
    /// The same of integers of up to 32 bits.
    SIGN_I32 = INTEGERS.sign_i32(1) Alike |a| word(i32(a[0]).signum());
    /// The same without a sign.
    SIGN_U32 = INTEGERS.sign_u32(1) Alike |a| a[0].min(1);
    /// The same of integers of 64 bits.
    SIGN_I64 = WIDE.sign_i64(1) Alike |a| a[0].cast_signed().signum().cast_unsigned();
    /// The same without a sign.
    SIGN_U64 = WIDE.sign_u64(1) Alike |a| a[0].min(1);
    /// 1 where the number is a NaN, else 0.
    IS_NAN_F32 = F32.not_a_number(1) Alike |a| f32(a[0]).is_nan().into();
    /// 1 where the number is an infinity that the parameter asks for, else 0: DML_IS_INFINITY_MODE.
    IS_INFINITY_F32 = F32.infinite(1; 1) Alike |a| {
        let x = f32(a[0]);
        (x.is_infinite() && (a[1] == 0 || (a[1] == 2) == x.is_sign_negative())).into()
    };
    /// Moves bits of a word towards the higher ones; by 32 and more none is left.
    SHIFT_LEFT_U32 = INTEGERS.shift_left(2) Alike |a| low(shifted(a, u64::checked_shl)).into();
    /// The same of 64 bits.
    SHIFT_LEFT_U64 = WIDE.bits_left(2) Alike |a| shifted(a, u64::checked_shl);
    /// Moves bits of a word towards the lower ones.
    SHIFT_RIGHT_U32 = INTEGERS.shift_right(2) Alike |a| shifted(a, u64::checked_shr);
    /// The same of 64 bits.
    SHIFT_RIGHT_U64 = WIDE.bits_right(2) Alike |a| shifted(a, u64::checked_shr);
}

/// The rest with the sign of the divisor; 0 of what is divided by 0.
fn modulus_floor(a: i128, b: i128) -> i128 {
    let rest = a.checked_rem(b).unwrap_or(0);
    if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest }
}

/// Nothing where `shift` has no result.
fn shifted(a: &[u64], shift: fn(u64, u32) -> Option<u64>) -> u64 {
    u32::try_from(a[1]).ok().and_then(|by| shift(a[0], by)).unwrap_or(0)
}
