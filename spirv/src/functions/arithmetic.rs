//! Arithmetic, comparisons and bit operations.

use super::{Function, Shape, f32, i32, low, word};
use crate::kernels::{F32, INTEGERS, WIDE};

functions! {
    /// Adds numbers, rounding to nearest.
    ADD_F32 = F32.add(2) Alike |a| (f32(a[0]) + f32(a[1])).to_bits().into();
    /// Divides numbers, rounding to nearest.
    DIVIDE_F32 = F32.divide(2) Alike |a| (f32(a[0]) / f32(a[1])).to_bits().into();
    /// Divides numbers by the parameter, rounding to nearest.
    DIVIDE_BY_F32 = F32.divide_by(1; 1) Alike |a| (f32(a[0]) / f32(a[1])).to_bits().into();
    /// Divides unsigned integers of up to 32 bits, rounding down; division by 0 gives 0.
    DIVIDE_U32 = INTEGERS.divide_u32(2) Alike |a| a[0].checked_div(a[1]).unwrap_or(0);
    /// Divides signed integers of up to 32 bits, truncating; division by 0 gives 0, and the least
    /// integer by -1 itself.
    DIVIDE_I32 = INTEGERS.divide_i32(2) Alike |a| word(match i32(a[1]) {
        0 => 0,
        divisor => i32(a[0]).wrapping_div(divisor),
    });
    /// Divides unsigned integers of 64 bits, rounding down; division by 0 gives 0.
    DIVIDE_U64 = WIDE.divide_u64(2) Alike |a| a[0].checked_div(a[1]).unwrap_or(0);
    /// Divides signed integers of 64 bits, truncating; division by 0 gives 0, and the least integer by -1 itself.
    DIVIDE_I64 = WIDE.divide_i64(2) Alike |a| match a[1].cast_signed() {
        0 => 0,
        divisor => a[0].cast_signed().wrapping_div(divisor).cast_unsigned(),
    };
    /// `x * scale + bias`, with two roundings to nearest.
    SCALE_BIAS_F32 = F32.scale_bias(1; 2) Alike |a| (f32(a[0]) * f32(a[1]) + f32(a[2])).to_bits().into();
    /// The number, at least the first parameter and then at most the second; NaN if one of the three is.
    CLIP_F32 = F32.clip(1; 2) Alike |a| minimum(maximum(a[0], a[1]), a[2]);
    /// As [`CLIP_F32`], for signed integers of up to 32 bits.
    CLIP_I32 = INTEGERS.clip_i32(1; 2) Alike |a| word(i32(a[0]).max(i32(a[1])).min(i32(a[2])));
    /// As [`CLIP_F32`], for unsigned integers of up to 32 bits.
    CLIP_U32 = INTEGERS.clip_u32(1; 2) Alike |a| a[0].max(a[1]).min(a[2]);
    /// As [`CLIP_F32`], for signed integers of 64 bits. Each parameter has two words, the low one first.
    CLIP_I64 = WIDE.clip_i64(1; 4) Alike |a| {
        let [least, most] = [wide(&a[1..]), wide(&a[3..])].map(u64::cast_signed);
        a[0].cast_signed().max(least).min(most).cast_unsigned()
    };
    /// As [`CLIP_F32`], for unsigned integers of 64 bits. Each parameter has two words, the low one first.
    CLIP_U64 = WIDE.clip_u64(1; 4) Alike |a| a[0].max(wide(&a[1..])).min(wide(&a[3..]));
    /// 1 if the first number is less than the second, else 0.
    LESS_THAN_F32 = F32.less_than(2) Alike |a| (f32(a[0]) < f32(a[1])).into();
    /// An unsigned integer in the order of the numbers: both zeros are equal, and NaN is above all.
    SORT_KEY_F32 = F32.sort_key(1) Alike |a| match f32(a[0]) {
        number if number.is_nan() => low(u64::MAX).into(),
        number if number < 0.0 => (!low(a[0]) + 1).into(),
        number => (number.abs().to_bits() | 0x8000_0000).into(),
    };
    /// 1 if the first signed integer of up to 32 bits is less than the second, else 0.
    LESS_THAN_I32 = INTEGERS.less_than_i32(2) Alike |a| (i32(a[0]) < i32(a[1])).into();
    /// 1 if the first unsigned integer of up to 32 bits is less than the second, else 0.
    LESS_THAN_U32 = INTEGERS.less_than_u32(2) Alike |a| (a[0] < a[1]).into();
    /// 1 if the first signed integer of 64 bits is less than the second, else 0.
    LESS_THAN_I64 = WIDE.less_than_i64(2) Alike |a| (a[0].cast_signed() < a[1].cast_signed()).into();
    /// 1 if the first unsigned integer of 64 bits is less than the second, else 0.
    LESS_THAN_U64 = WIDE.less_than_u64(2) Alike |a| (a[0] < a[1]).into();
    /// Subtracts numbers, rounding to nearest.
    SUBTRACT_F32 = F32.subtract(2) Alike |a| (f32(a[0]) - f32(a[1])).to_bits().into();
    /// Subtracts integers of up to 32 bits; overflow wraps.
    SUBTRACT_I32 = INTEGERS.subtract(2) Alike |a| low(a[0]).wrapping_sub(low(a[1])).into();
    /// Subtracts integers of 64 bits; overflow wraps.
    SUBTRACT_I64 = WIDE.subtract(2) Alike |a| a[0].wrapping_sub(a[1]);
    /// Multiplies numbers, rounding to nearest.
    MULTIPLY_F32 = F32.multiply(2) Alike |a| (f32(a[0]) * f32(a[1])).to_bits().into();
    /// Multiplies integers of up to 32 bits; overflow wraps.
    MULTIPLY_I32 = INTEGERS.multiply(2) Alike |a| low(a[0]).wrapping_mul(low(a[1])).into();
    /// Multiplies integers of 64 bits; overflow wraps.
    MULTIPLY_I64 = WIDE.multiply(2) Alike |a| a[0].wrapping_mul(a[1]);
    /// `a * (1 - weight) + b * weight`, each step rounded to nearest; `a` where the weight is +0.
    INTERPOLATED_F32 = F32.interpolated(3) Alike |a| match f32(a[2]) {
        _ if a[2] == 0 => a[0],
        weight => (f32(a[0]) * (1.0 - weight) + f32(a[1]) * weight).to_bits().into(),
    };
    /// Squares the difference of numbers, rounding each to nearest.
    DIFFERENCE_SQUARE_F32 = F32.difference_square(2) Alike |a| {
        let difference = f32(a[0]) - f32(a[1]);
        (difference * difference).to_bits().into()
    };
    /// Squares the difference of integers of up to 32 bits; overflow wraps.
    DIFFERENCE_SQUARE_I32 = INTEGERS.difference_square(2) Alike |a| {
        let difference = low(a[0]).wrapping_sub(low(a[1]));
        difference.wrapping_mul(difference).into()
    };
    /// The number without its sign.
    ABSOLUTE_F32 = F32.absolute(1) Alike |a| a[0] & 0x7fff_ffff;
    /// The magnitude of an integer of up to 32 bits; the least integer gives itself.
    ABSOLUTE_I32 = INTEGERS.magnitude_of(1) Alike |a| word(i32(a[0]).wrapping_abs());
    /// The magnitude of an integer of 64 bits; the least integer gives itself.
    ABSOLUTE_I64 = WIDE.absolute(1) Alike |a| a[0].cast_signed().wrapping_abs().cast_unsigned();
    /// The number with the other sign.
    OPPOSITE_F32 = F32.opposite(1) Alike |a| a[0] ^ 0x8000_0000;
    /// The negative of an integer of up to 32 bits; the least integer gives itself.
    OPPOSITE_I32 = INTEGERS.opposite(1) Alike |a| word(i32(a[0]).wrapping_neg());
    /// The negative of an integer of 64 bits; the least integer gives itself.
    OPPOSITE_I64 = WIDE.opposite(1) Alike |a| a[0].wrapping_neg();
    /// The greater number, +0 above -0; NaN if one of them is.
    MAXIMUM_F32 = F32.maximum(2) Alike |a| maximum(a[0], a[1]);
    /// The greater signed integer of up to 32 bits.
    MAXIMUM_I32 = INTEGERS.maximum_i32(2) Alike |a| word(i32(a[0]).max(i32(a[1])));
    /// The greater unsigned integer of up to 32 bits.
    MAXIMUM_U32 = INTEGERS.maximum_u32(2) Alike |a| a[0].max(a[1]);
    /// The greater signed integer of 64 bits.
    MAXIMUM_I64 = WIDE.maximum_i64(2) Alike |a| a[0].cast_signed().max(a[1].cast_signed()).cast_unsigned();
    /// The greater unsigned integer of 64 bits.
    MAXIMUM_U64 = WIDE.maximum_u64(2) Alike |a| a[0].max(a[1]);
    /// The lesser number, -0 below +0; NaN if one of them is.
    MINIMUM_F32 = F32.minimum(2) Alike |a| minimum(a[0], a[1]);
    /// The lesser signed integer of up to 32 bits.
    MINIMUM_I32 = INTEGERS.minimum_i32(2) Alike |a| word(i32(a[0]).min(i32(a[1])));
    /// The lesser unsigned integer of up to 32 bits.
    MINIMUM_U32 = INTEGERS.minimum_u32(2) Alike |a| a[0].min(a[1]);
    /// The lesser signed integer of 64 bits.
    MINIMUM_I64 = WIDE.minimum_i64(2) Alike |a| a[0].cast_signed().min(a[1].cast_signed()).cast_unsigned();
    /// The lesser unsigned integer of 64 bits.
    MINIMUM_U64 = WIDE.minimum_u64(2) Alike |a| a[0].min(a[1]);
    /// 1 if the first number is greater than the second, else 0.
    GREATER_THAN_F32 = F32.greater_than(2) Alike |a| (f32(a[0]) > f32(a[1])).into();
    /// 1 if the first signed integer of up to 32 bits is greater than the second, else 0.
    GREATER_THAN_I32 = INTEGERS.greater_than_i32(2) Alike |a| (i32(a[0]) > i32(a[1])).into();
    /// 1 if the first unsigned integer of up to 32 bits is greater than the second, else 0.
    GREATER_THAN_U32 = INTEGERS.greater_than_u32(2) Alike |a| (a[0] > a[1]).into();
    /// 1 if the first signed integer of 64 bits is greater than the second, else 0.
    GREATER_THAN_I64 = WIDE.greater_than_i64(2) Alike |a| (a[0].cast_signed() > a[1].cast_signed()).into();
    /// 1 if the first unsigned integer of 64 bits is greater than the second, else 0.
    GREATER_THAN_U64 = WIDE.greater_than_u64(2) Alike |a| (a[0] > a[1]).into();
    /// 1 if the first number is at most the second, else 0.
    AT_MOST_F32 = F32.at_most(2) Alike |a| (f32(a[0]) <= f32(a[1])).into();
    /// 1 if the first signed integer of up to 32 bits is at most the second, else 0.
    AT_MOST_I32 = INTEGERS.at_most_i32(2) Alike |a| (i32(a[0]) <= i32(a[1])).into();
    /// 1 if the first unsigned integer of up to 32 bits is at most the second, else 0.
    AT_MOST_U32 = INTEGERS.at_most_u32(2) Alike |a| (a[0] <= a[1]).into();
    /// 1 if the first signed integer of 64 bits is at most the second, else 0.
    AT_MOST_I64 = WIDE.at_most_i64(2) Alike |a| (a[0].cast_signed() <= a[1].cast_signed()).into();
    /// 1 if the first unsigned integer of 64 bits is at most the second, else 0.
    AT_MOST_U64 = WIDE.at_most_u64(2) Alike |a| (a[0] <= a[1]).into();
    /// 1 if the first number is at least the second, else 0.
    AT_LEAST_F32 = F32.at_least(2) Alike |a| (f32(a[0]) >= f32(a[1])).into();
    /// 1 if the first signed integer of up to 32 bits is at least the second, else 0.
    AT_LEAST_I32 = INTEGERS.at_least_i32(2) Alike |a| (i32(a[0]) >= i32(a[1])).into();
    /// 1 if the first unsigned integer of up to 32 bits is at least the second, else 0.
    AT_LEAST_U32 = INTEGERS.at_least_u32(2) Alike |a| (a[0] >= a[1]).into();
    /// 1 if the first signed integer of 64 bits is at least the second, else 0.
    AT_LEAST_I64 = WIDE.at_least_i64(2) Alike |a| (a[0].cast_signed() >= a[1].cast_signed()).into();
    /// 1 if the first unsigned integer of 64 bits is at least the second, else 0.
    AT_LEAST_U64 = WIDE.at_least_u64(2) Alike |a| (a[0] >= a[1]).into();
    /// 1 if the numbers are equal, else 0.
    EQUALS_F32 = F32.equals(2) Alike |a| (f32(a[0]) == f32(a[1])).into();
    /// 1 if the words are equal, else 0.
    EQUALS_I32 = INTEGERS.equals(2) Alike |a| (low(a[0]) == low(a[1])).into();
    /// 1 if the elements of 64 bits are equal, else 0.
    EQUALS_I64 = WIDE.equals(2) Alike |a| (a[0] == a[1]).into();
    /// Bits that are set in both words.
    BIT_AND_WORD = INTEGERS.bit_and(2) Alike |a| a[0] & a[1];
    /// Bits that are set in both elements of 64 bits.
    BIT_AND_WIDE = WIDE.bit_and(2) Alike |a| a[0] & a[1];
    /// Bits that are set in at least one of two words.
    BIT_OR_WORD = INTEGERS.bit_or(2) Alike |a| a[0] | a[1];
    /// Bits that are set in at least one of two elements of 64 bits.
    BIT_OR_WIDE = WIDE.bit_or(2) Alike |a| a[0] | a[1];
    /// Bits that are set in exactly one of two words.
    BIT_XOR_WORD = INTEGERS.bit_xor(2) Alike |a| a[0] ^ a[1];
    /// Bits that are set in exactly one of two elements of 64 bits.
    BIT_XOR_WIDE = WIDE.bit_xor(2) Alike |a| a[0] ^ a[1];
    /// The bits of a word, inverted.
    BIT_NOT_WORD = INTEGERS.bit_not(1) Alike |a| (!low(a[0])).into();
    /// The bits of an element of 64 bits, inverted.
    BIT_NOT_WIDE = WIDE.bit_not(1) Alike |a| !a[0];
    /// 1 if neither word is 0, else 0.
    LOGICAL_AND_WORD = INTEGERS.logical_and(2) Alike |a| (a[0] != 0 && a[1] != 0).into();
    /// 1 if at least one of the words is not 0, else 0.
    LOGICAL_OR_WORD = INTEGERS.logical_or(2) Alike |a| (a[0] != 0 || a[1] != 0).into();
    /// 1 if exactly one of the words is 0, else 0.
    LOGICAL_XOR_WORD = INTEGERS.logical_xor(2) Alike |a| ((a[0] != 0) != (a[1] != 0)).into();
    /// 1 if the word is 0, else 0.
    LOGICAL_NOT_WORD = INTEGERS.logical_not(1) Alike |a| (a[0] == 0).into();
    /// The number of bits that are set in a word.
    BIT_COUNT_WORD = INTEGERS.bit_count(1) Alike |a| low(a[0]).count_ones().into();
    /// The number of bits that are set in an element of 64 bits.
    BIT_COUNT_WIDE = WIDE.bit_count(1) Alike |a| a[0].count_ones().into();
    /// The second word if the first is not 0, else the third.
    CHOOSE_WORD = INTEGERS.choose(3) Alike |a| if a[0] == 0 { a[2] } else { a[1] };
    /// The second element of 64 bits if the first is not 0, else the third.
    CHOOSE_WIDE = WIDE.choose(3) Alike |a| if a[0] == 0 { a[2] } else { a[1] };
    /// Adds the four integers of 8 bits in a word; overflow wraps.
    ADD_I8X4 = INTEGERS.add_8(2) Alike |a| in_lanes::<8>(a, u64::wrapping_add);
    /// Adds the two integers of 16 bits in a word; overflow wraps.
    ADD_I16X2 = INTEGERS.add_16(2) Alike |a| in_lanes::<16>(a, u64::wrapping_add);
    /// Repeats 8 bits in the whole word.
    SPLAT_8 = INTEGERS.splat_8(1) Alike |a| (a[0] & 0xff) * 0x0101_0101;
    /// Repeats 16 bits in the whole word.
    SPLAT_16 = INTEGERS.splat_16(1) Alike |a| (a[0] & 0xffff) * 0x0001_0001;
    /// Adds integers of up to 32 bits; overflow wraps.
    ADD_I32 = INTEGERS.add(2) Alike |a| low(a[0]).wrapping_add(low(a[1])).into();
    /// Adds integers of 64 bits; overflow wraps.
    ADD_I64 = WIDE.add(2) Alike |a| a[0].wrapping_add(a[1]);
}

/// The results of `of` on each lane of `BITS` bits of two words, joined to one word.
fn in_lanes<const BITS: usize>(a: &[u64], of: fn(u64, u64) -> u64) -> u64 {
    let lane = |at| (of(a[0] >> at, a[1] >> at) & ((1 << BITS) - 1)) << at;
    (0..32).step_by(BITS).map(lane).sum()
}

/// The greater of two numbers of 32 bits, where +0 is above -0. NaN if one is NaN; of two NaNs the second.
pub(super) fn maximum(a: u64, b: u64) -> u64 {
    let is_greater = f32(a).total_cmp(&f32(b)).is_gt();
    if f32(b).is_nan() || !(f32(a).is_nan() || is_greater) { b } else { a }
}

/// The lesser of two numbers of 32 bits, where -0 is below +0. NaN if one is NaN; of two NaNs the second.
pub(super) fn minimum(a: u64, b: u64) -> u64 {
    let is_less = f32(a).total_cmp(&f32(b)).is_lt();
    if f32(b).is_nan() || !(f32(a).is_nan() || is_less) { b } else { a }
}

/// The 64 bits of two words, the low word first.
pub(super) fn wide(words: &[u64]) -> u64 {
    words[0] | words[1] << 32
}
