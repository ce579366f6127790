//! Rounding, roots, reciprocals, means, remainders, signs, classification and shifts.

use super::arithmetic::maximum;
use super::{Function, Shape, f32, i32, low, word};
use crate::kernels::{F32, INTEGERS, ROUNDING, WIDE};

functions! {
    /// Rounds down to an integer.
    FLOOR_F32 = ROUNDING.round_down(1) Alike |a| f32(a[0]).floor().to_bits().into();
    /// Rounds up to an integer.
    CEIL_F32 = ROUNDING.round_up(1) Alike |a| f32(a[0]).ceil().to_bits().into();
    /// Rounds to an integer in the mode of the parameter, a DML_ROUNDING_MODE.
    ROUND_F32 = ROUNDING.round_by(1; 1) Alike |a| {
        let x = f32(a[0]);
        (match a[1] { 0 => x.round_ties_even(), 1 => x.trunc(), _ => x.round() }).to_bits().into()
    };
    /// The square root, rounded to nearest; NaN for negative numbers.
    SQUARE_ROOT_F32 = F32.square_root(1) Alike |a| f32(a[0]).sqrt().to_bits().into();
    /// 1 divided by the number, rounded to nearest.
    RECIPROCAL_F32 = F32.reciprocal(1) Alike |a| (1.0 / f32(a[0])).to_bits().into();
    /// Half the sum of two numbers, rounded once to nearest.
    MEAN_F32 = F32.mean(2) Alike |a| {
        let sum = f64::from(f32(a[0])) + f64::from(f32(a[1]));
        ((sum / 2.0) as f32).to_bits().into()
    };
    /// Half the sum of signed integers of up to 32 bits, truncated; the sum does not wrap.
    MEAN_I32 = INTEGERS.mean_i32(2) Alike |a| word(((i64::from(i32(a[0])) + i64::from(i32(a[1]))) / 2) as i32);
    /// Half the sum of unsigned integers of up to 32 bits, rounded down; the sum does not wrap.
    MEAN_U32 = INTEGERS.mean_u32(2) Alike |a| (a[0] + a[1]) / 2;
    /// The remainder of truncating division, with the sign of the dividend; exact.
    MODULUS_TRUNCATE_F32 = F32.modulus_truncate(2) Alike |a| (f32(a[0]) % f32(a[1])).to_bits().into();
    /// The remainder of truncating division of signed integers of up to 32 bits; 0 if the divisor is 0.
    MODULUS_TRUNCATE_I32 = INTEGERS.modulus_truncate_i32(2) Alike |a| word(match i32(a[1]) {
        0 => 0,
        divisor => i32(a[0]).wrapping_rem(divisor),
    });
    /// The remainder of unsigned integers of up to 32 bits; 0 if the divisor is 0.
    MODULUS_U32 = INTEGERS.modulus_u32(2) Alike |a| a[0].checked_rem(a[1]).unwrap_or(0);
    /// The remainder of truncating division of signed integers of 64 bits; 0 if the divisor is 0.
    MODULUS_TRUNCATE_I64 = WIDE.modulus_truncate_i64(2) Alike |a| match a[1].cast_signed() {
        0 => 0,
        divisor => a[0].cast_signed().wrapping_rem(divisor).cast_unsigned(),
    };
    /// The remainder of unsigned integers of 64 bits; 0 if the divisor is 0.
    MODULUS_U64 = WIDE.modulus_u64(2) Alike |a| a[0].checked_rem(a[1]).unwrap_or(0);
    /// The remainder of division that rounds down, with the sign of the divisor; rounded once.
    MODULUS_FLOOR_F32 = F32.modulus_floor(2) Alike |a| {
        let (rest, divisor) = (f32(a[0]) % f32(a[1]), f32(a[1]));
        let differs = rest.is_sign_negative() != divisor.is_sign_negative();
        let with_sign = if rest == 0.0 { rest.copysign(divisor) } else { rest };
        (if differs && rest != 0.0 { rest + divisor } else { with_sign }).to_bits().into()
    };
    /// The remainder of division that rounds down, of signed integers of up to 32 bits; 0 if the divisor is 0.
    MODULUS_FLOOR_I32 = INTEGERS.modulus_floor_i32(2) Alike |a| {
        word(modulus_floor(i32(a[0]).into(), i32(a[1]).into()) as i32)
    };
    /// The remainder of division that rounds down, of signed integers of 64 bits; 0 if the divisor is 0.
    MODULUS_FLOOR_I64 = WIDE.modulus_floor_i64(2) Alike |a| {
        modulus_floor(a[0].cast_signed().into(), a[1].cast_signed().into()) as u64
    };
    /// The greater of the number and the parameter; NaN if one of them is.
    THRESHOLD_F32 = F32.threshold(1; 1) Alike |a| maximum(a[0], a[1]);
    /// The greater of a signed integer of up to 32 bits and the parameter.
    THRESHOLD_I32 = INTEGERS.threshold_i32(1; 1) Alike |a| word(i32(a[0]).max(i32(a[1])));
    /// The greater of an unsigned integer of up to 32 bits and the parameter.
    THRESHOLD_U32 = INTEGERS.threshold_u32(1; 1) Alike |a| a[0].max(a[1]);
    /// -1, 0 or 1 by the sign of a number; 0 for NaN.
    SIGN_F32 = F32.sign_of(1) Alike |a| match f32(a[0]) {
        x if x > 0.0 => 1.0_f32.to_bits().into(),
        x if x < 0.0 => (-1.0_f32).to_bits().into(),
        _ => 0,
    };
    /// -1, 0 or 1 by the sign of an integer of up to 32 bits.
    SIGN_I32 = INTEGERS.sign_i32(1) Alike |a| word(i32(a[0]).signum());
    /// 0 for 0, else 1, for unsigned integers of up to 32 bits.
    SIGN_U32 = INTEGERS.sign_u32(1) Alike |a| a[0].min(1);
    /// -1, 0 or 1 by the sign of an integer of 64 bits.
    SIGN_I64 = WIDE.sign_i64(1) Alike |a| a[0].cast_signed().signum().cast_unsigned();
    /// 0 for 0, else 1, for unsigned integers of 64 bits.
    SIGN_U64 = WIDE.sign_u64(1) Alike |a| a[0].min(1);
    /// 1 if the number is NaN, else 0.
    IS_NAN_F32 = F32.not_a_number(1) Alike |a| f32(a[0]).is_nan().into();
    /// 1 if the number is an infinity that the parameter, a DML_IS_INFINITY_MODE, selects, else 0.
    IS_INFINITY_F32 = F32.infinite(1; 1) Alike |a| {
        let x = f32(a[0]);
        (x.is_infinite() && (a[1] == 0 || (a[1] == 2) == x.is_sign_negative())).into()
    };
    /// Shifts a word to the left; shifts by 32 and more give 0.
    SHIFT_LEFT_U32 = INTEGERS.shift_left(2) Alike |a| low(shifted(a, u64::checked_shl)).into();
    /// Shifts 64 bits to the left; shifts by 64 and more give 0.
    SHIFT_LEFT_U64 = WIDE.bits_left(2) Alike |a| shifted(a, u64::checked_shl);
    /// Shifts a word to the right, with zeros from the left.
    SHIFT_RIGHT_U32 = INTEGERS.shift_right(2) Alike |a| shifted(a, u64::checked_shr);
    /// Shifts 64 bits to the right, with zeros from the left; shifts by 64 and more give 0.
    SHIFT_RIGHT_U64 = WIDE.bits_right(2) Alike |a| shifted(a, u64::checked_shr);
}

/// The remainder with the sign of the divisor; 0 if the divisor is 0.
fn modulus_floor(a: i128, b: i128) -> i128 {
    let rest = a.checked_rem(b).unwrap_or(0);
    if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest }
}

/// The shifted number; 0 where `shift` gives `None`.
fn shifted(a: &[u64], shift: fn(u64, u32) -> Option<u64>) -> u64 {
    u32::try_from(a[1]).ok().and_then(|by| shift(a[0], by)).unwrap_or(0)
}
