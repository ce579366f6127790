//! The functions that programs are made of: one row for each, with its GLSL and its twin.
//!
//! A twin computes on the bits of single elements; those of fewer than 64 bits have zeros above.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "Rust's conversions of floats are those that the functions promise"
)]

use std::fmt;
use std::hash::{Hash, Hasher};

use crate::ElementWidth;
use crate::kernels::{F16, F32, F64, INTEGERS, WIDE};
use crate::link::Source;

/// How a function takes and gives its elements. Registers have four words: four elements of up to 32
/// bits, or two of 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Registers to a register of as many elements.
    Alike,
    /// Elements of 32 bits to elements of 64, half of them at a time.
    Widening,
    /// Elements of 64 bits to elements of 32.
    Narrowing,
}

/// A function on elements.
pub struct Function {
    /// Its name in GLSL.
    pub name: &'static str,
    /// Where its GLSL is.
    pub library: &'static Source,
    /// How many elements it takes.
    pub arity: usize,
    /// How many parameters it takes after them, a word each, the same for all elements.
    pub parameters: usize,
    /// How it takes them.
    pub shape: Shape,
    /// The same for single elements on the host.
    pub twin: fn(&[u64]) -> u64,
}

impl Function {
    /// How wide the elements are that fill its registers: those it takes, and those it gives.
    pub fn widths(&self) -> [ElementWidth; 2] {
        let is_wide = [&WIDE, &F64].iter().any(|it| std::ptr::eq(*it, self.library));
        match self.shape {
            Shape::Alike if is_wide => [ElementWidth::B64; 2],
            Shape::Alike => [ElementWidth::B32; 2],
            Shape::Widening => [ElementWidth::B32, ElementWidth::B64],
            Shape::Narrowing => [ElementWidth::B64, ElementWidth::B32],
        }
    }
}

/// A function is its row.
impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Function {}

impl Hash for Function {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::ptr::from_ref(self).hash(state);
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.library.name, self.name)
    }
}

/// Rows: `NAME = LIBRARY.function(arity) Shape |arguments| twin;`, with `(arity; parameters)` where there
/// are any.
macro_rules! functions {
    ($($(#[$documentation:meta])* $id:ident = $library:ident.$name:ident($arity:literal $(; $parameters:literal)?) $shape:ident |$a:ident| $twin:expr;)*) => {
        $(
            $(#[$documentation])*
            pub static $id: Function = Function {
                name: stringify!($name),
                library: &$library,
                arity: $arity,
                parameters: 0 $(+ $parameters)?,
                shape: Shape::$shape,
                twin: |$a| $twin,
            };
        )*

        /// All of them.
        pub static ALL: &[&Function] = &[$(&$id),*];
    };
}

fn f32(bits: u64) -> f32 {
    f32::from_bits(low(bits))
}

fn f64(bits: u64) -> f64 {
    f64::from_bits(bits)
}

fn low(bits: u64) -> u32 {
    bits as u32
}

fn i32(bits: u64) -> i32 {
    low(bits).cast_signed()
}

functions! {
    /// Adds numbers, rounding to nearest.
    ADD_F32 = F32.add(2) Alike |a| (f32(a[0]) + f32(a[1])).to_bits().into();
    /// Divides numbers, rounding to nearest.
    DIVIDE_F32 = F32.divide(2) Alike |a| (f32(a[0]) / f32(a[1])).to_bits().into();
    /// Divides integers of up to 32 bits, truncating; what is divided by 0 is 0.
    DIVIDE_U32 = INTEGERS.divide_u32(2) Alike |a| a[0].checked_div(a[1]).unwrap_or(0);
    /// The same with a sign; the least integer divided by -1 is itself.
    DIVIDE_I32 = INTEGERS.divide_i32(2) Alike |a| word(match i32(a[1]) {
        0 => 0,
        divisor => i32(a[0]).wrapping_div(divisor),
    });
    /// Divides integers of 64 bits, truncating; what is divided by 0 is 0.
    DIVIDE_U64 = WIDE.divide_u64(2) Alike |a| a[0].checked_div(a[1]).unwrap_or(0);
    /// The same with a sign; the least integer divided by -1 is itself.
    DIVIDE_I64 = WIDE.divide_i64(2) Alike |a| match a[1].cast_signed() {
        0 => 0,
        divisor => a[0].cast_signed().wrapping_div(divisor).cast_unsigned(),
    };
    /// `x * scale + bias`, with two roundings to nearest.
    SCALE_BIAS_F32 = F32.scale_bias(1; 2) Alike |a| (f32(a[0]) * f32(a[1]) + f32(a[2])).to_bits().into();
    /// The greater number of this and 0; a NaN stays one.
    RELU_F32 = F32.relu(1) Alike |a| maximum(a[0], 0);
    /// The greater number of this and 0.
    RELU_I32 = INTEGERS.relu_i32(1) Alike |a| word(i32(a[0]).max(0));
    /// The number, at least the first parameter and then at most the second; a NaN where one of them is.
    CLIP_F32 = F32.clip(1; 2) Alike |a| minimum(maximum(a[0], a[1]), a[2]);
    /// The same with integers of up to 32 bits.
    CLIP_I32 = INTEGERS.clip_i32(1; 2) Alike |a| word(i32(a[0]).max(i32(a[1])).min(i32(a[2])));
    /// The same without a sign.
    CLIP_U32 = INTEGERS.clip_u32(1; 2) Alike |a| a[0].max(a[1]).min(a[2]);
    /// The same with integers of 64 bits, the low words of the parameters first.
    CLIP_I64 = WIDE.clip_i64(1; 4) Alike |a| {
        let [least, most] = [wide(&a[1..]), wide(&a[3..])].map(u64::cast_signed);
        a[0].cast_signed().max(least).min(most).cast_unsigned()
    };
    /// The same without a sign.
    CLIP_U64 = WIDE.clip_u64(1; 4) Alike |a| a[0].max(wide(&a[1..])).min(wide(&a[3..]));
    /// 1 where the first number is less than the second, else 0.
    LESS_THAN_F32 = F32.less_than(2) Alike |a| (f32(a[0]) < f32(a[1])).into();
    /// The same with integers of up to 32 bits.
    LESS_THAN_I32 = INTEGERS.less_than_i32(2) Alike |a| (i32(a[0]) < i32(a[1])).into();
    /// The same without a sign.
    LESS_THAN_U32 = INTEGERS.less_than_u32(2) Alike |a| (a[0] < a[1]).into();
    /// The same with integers of 64 bits.
    LESS_THAN_I64 = WIDE.less_than_i64(2) Alike |a| (a[0].cast_signed() < a[1].cast_signed()).into();
    /// The same without a sign.
    LESS_THAN_U64 = WIDE.less_than_u64(2) Alike |a| (a[0] < a[1]).into();
    /// Subtracts numbers, rounding to nearest.
    SUBTRACT_F32 = F32.subtract(2) Alike |a| (f32(a[0]) - f32(a[1])).to_bits().into();
    /// Subtracts integers of up to 32 bits; what does not fit wraps.
    SUBTRACT_I32 = INTEGERS.subtract(2) Alike |a| low(a[0]).wrapping_sub(low(a[1])).into();
    /// Subtracts integers of 64 bits; what does not fit wraps.
    SUBTRACT_I64 = WIDE.subtract(2) Alike |a| a[0].wrapping_sub(a[1]);
    /// Multiplies numbers, rounding to nearest.
    MULTIPLY_F32 = F32.multiply(2) Alike |a| (f32(a[0]) * f32(a[1])).to_bits().into();
    /// Multiplies integers of up to 32 bits; what does not fit wraps.
    MULTIPLY_I32 = INTEGERS.multiply(2) Alike |a| low(a[0]).wrapping_mul(low(a[1])).into();
    /// Multiplies integers of 64 bits; what does not fit wraps.
    MULTIPLY_I64 = WIDE.multiply(2) Alike |a| a[0].wrapping_mul(a[1]);
    /// Squares the difference of numbers, rounding each to nearest.
    DIFFERENCE_SQUARE_F32 = F32.difference_square(2) Alike |a| {
        let difference = f32(a[0]) - f32(a[1]);
        (difference * difference).to_bits().into()
    };
    /// Squares the difference of integers of up to 32 bits; what does not fit wraps.
    DIFFERENCE_SQUARE_I32 = INTEGERS.difference_square(2) Alike |a| {
        let difference = low(a[0]).wrapping_sub(low(a[1]));
        difference.wrapping_mul(difference).into()
    };
    /// The number without its sign.
    ABSOLUTE_F32 = F32.absolute(1) Alike |a| a[0] & 0x7fff_ffff;
    /// The same of integers of up to 32 bits; the least is itself.
    ABSOLUTE_I32 = INTEGERS.magnitude_of(1) Alike |a| word(i32(a[0]).wrapping_abs());
    /// The same of integers of 64 bits.
    ABSOLUTE_I64 = WIDE.absolute(1) Alike |a| a[0].cast_signed().wrapping_abs().cast_unsigned();
    /// The number with the other sign.
    OPPOSITE_F32 = F32.opposite(1) Alike |a| a[0] ^ 0x8000_0000;
    /// The same of integers of up to 32 bits; the least is itself.
    OPPOSITE_I32 = INTEGERS.opposite(1) Alike |a| word(i32(a[0]).wrapping_neg());
    /// The same of integers of 64 bits.
    OPPOSITE_I64 = WIDE.opposite(1) Alike |a| a[0].wrapping_neg();
    /// The greater number, +0 above -0; a NaN where one of them is.
    MAXIMUM_F32 = F32.maximum(2) Alike |a| maximum(a[0], a[1]);
    /// The greater integer of up to 32 bits.
    MAXIMUM_I32 = INTEGERS.maximum_i32(2) Alike |a| word(i32(a[0]).max(i32(a[1])));
    /// The same without a sign.
    MAXIMUM_U32 = INTEGERS.maximum_u32(2) Alike |a| a[0].max(a[1]);
    /// The greater integer of 64 bits.
    MAXIMUM_I64 = WIDE.maximum_i64(2) Alike |a| a[0].cast_signed().max(a[1].cast_signed()).cast_unsigned();
    /// The same without a sign.
    MAXIMUM_U64 = WIDE.maximum_u64(2) Alike |a| a[0].max(a[1]);
    /// The lesser number, -0 below +0; a NaN where one of them is.
    MINIMUM_F32 = F32.minimum(2) Alike |a| minimum(a[0], a[1]);
    /// The lesser integer of up to 32 bits.
    MINIMUM_I32 = INTEGERS.minimum_i32(2) Alike |a| word(i32(a[0]).min(i32(a[1])));
    /// The same without a sign.
    MINIMUM_U32 = INTEGERS.minimum_u32(2) Alike |a| a[0].min(a[1]);
    /// The lesser integer of 64 bits.
    MINIMUM_I64 = WIDE.minimum_i64(2) Alike |a| a[0].cast_signed().min(a[1].cast_signed()).cast_unsigned();
    /// The same without a sign.
    MINIMUM_U64 = WIDE.minimum_u64(2) Alike |a| a[0].min(a[1]);
    /// `x * Alpha` of a negative number, else the number; a NaN stays one.
    LEAKY_RELU_F32 = F32.leaky_relu(1; 1) Alike |a| {
        if f32(a[0]) < 0.0 { (f32(a[0]) * f32(a[1])).to_bits().into() } else { a[0] }
    };
    /// 1 where the first number is greater than the second, else 0.
    GREATER_THAN_F32 = F32.greater_than(2) Alike |a| (f32(a[0]) > f32(a[1])).into();
    /// The same with integers of up to 32 bits.
    GREATER_THAN_I32 = INTEGERS.greater_than_i32(2) Alike |a| (i32(a[0]) > i32(a[1])).into();
    /// The same without a sign.
    GREATER_THAN_U32 = INTEGERS.greater_than_u32(2) Alike |a| (a[0] > a[1]).into();
    /// The same with integers of 64 bits.
    GREATER_THAN_I64 = WIDE.greater_than_i64(2) Alike |a| (a[0].cast_signed() > a[1].cast_signed()).into();
    /// The same without a sign.
    GREATER_THAN_U64 = WIDE.greater_than_u64(2) Alike |a| (a[0] > a[1]).into();
    /// 1 where the first number is at most the second, else 0.
    AT_MOST_F32 = F32.at_most(2) Alike |a| (f32(a[0]) <= f32(a[1])).into();
    /// The same with integers of up to 32 bits.
    AT_MOST_I32 = INTEGERS.at_most_i32(2) Alike |a| (i32(a[0]) <= i32(a[1])).into();
    /// The same without a sign.
    AT_MOST_U32 = INTEGERS.at_most_u32(2) Alike |a| (a[0] <= a[1]).into();
    /// The same with integers of 64 bits.
    AT_MOST_I64 = WIDE.at_most_i64(2) Alike |a| (a[0].cast_signed() <= a[1].cast_signed()).into();
    /// The same without a sign.
    AT_MOST_U64 = WIDE.at_most_u64(2) Alike |a| (a[0] <= a[1]).into();
    /// 1 where the first number is at least the second, else 0.
    AT_LEAST_F32 = F32.at_least(2) Alike |a| (f32(a[0]) >= f32(a[1])).into();
    /// The same with integers of up to 32 bits.
    AT_LEAST_I32 = INTEGERS.at_least_i32(2) Alike |a| (i32(a[0]) >= i32(a[1])).into();
    /// The same without a sign.
    AT_LEAST_U32 = INTEGERS.at_least_u32(2) Alike |a| (a[0] >= a[1]).into();
    /// The same with integers of 64 bits.
    AT_LEAST_I64 = WIDE.at_least_i64(2) Alike |a| (a[0].cast_signed() >= a[1].cast_signed()).into();
    /// The same without a sign.
    AT_LEAST_U64 = WIDE.at_least_u64(2) Alike |a| (a[0] >= a[1]).into();
    /// 1 where the numbers are equal, else 0.
    EQUALS_F32 = F32.equals(2) Alike |a| (f32(a[0]) == f32(a[1])).into();
    /// The same with integers of up to 32 bits.
    EQUALS_I32 = INTEGERS.equals(2) Alike |a| (low(a[0]) == low(a[1])).into();
    /// The same with integers of 64 bits.
    EQUALS_I64 = WIDE.equals(2) Alike |a| (a[0] == a[1]).into();
    /// Bits that are set in both words.
    BIT_AND_WORD = INTEGERS.bit_and(2) Alike |a| a[0] & a[1];
    /// The same with elements of 64 bits.
    BIT_AND_WIDE = WIDE.bit_and(2) Alike |a| a[0] & a[1];
    /// Bits that are set in a word.
    BIT_OR_WORD = INTEGERS.bit_or(2) Alike |a| a[0] | a[1];
    /// The same with elements of 64 bits.
    BIT_OR_WIDE = WIDE.bit_or(2) Alike |a| a[0] | a[1];
    /// Bits that are set in exactly one of two words.
    BIT_XOR_WORD = INTEGERS.bit_xor(2) Alike |a| a[0] ^ a[1];
    /// The same with elements of 64 bits.
    BIT_XOR_WIDE = WIDE.bit_xor(2) Alike |a| a[0] ^ a[1];
    /// Bits that are not set in a word.
    BIT_NOT_WORD = INTEGERS.bit_not(1) Alike |a| (!low(a[0])).into();
    /// The same with elements of 64 bits.
    BIT_NOT_WIDE = WIDE.bit_not(1) Alike |a| !a[0];
    /// 1 where neither word is 0, else 0.
    LOGICAL_AND_WORD = INTEGERS.logical_and(2) Alike |a| (a[0] != 0 && a[1] != 0).into();
    /// 1 where one of the words is not 0, else 0.
    LOGICAL_OR_WORD = INTEGERS.logical_or(2) Alike |a| (a[0] != 0 || a[1] != 0).into();
    /// 1 where exactly one of the words is 0, else 0.
    LOGICAL_XOR_WORD = INTEGERS.logical_xor(2) Alike |a| ((a[0] != 0) != (a[1] != 0)).into();
    /// 1 where the word is 0, else 0.
    LOGICAL_NOT_WORD = INTEGERS.logical_not(1) Alike |a| (a[0] == 0).into();
    /// How many bits of a word are set.
    BIT_COUNT_WORD = INTEGERS.bit_count(1) Alike |a| low(a[0]).count_ones().into();
    /// How many of 64.
    BIT_COUNT_WIDE = WIDE.bit_count(1) Alike |a| a[0].count_ones().into();
    /// The second word where the first is not 0, else the third.
    CHOOSE_WORD = INTEGERS.choose(3) Alike |a| if a[0] == 0 { a[2] } else { a[1] };
    /// The same with elements of 64 bits.
    CHOOSE_WIDE = WIDE.choose(3) Alike |a| if a[0] == 0 { a[2] } else { a[1] };
    /// Adds the four integers of 8 bits in a word; what does not fit wraps.
    ADD_I8X4 = INTEGERS.add_8(2) Alike |a| in_lanes::<8>(a, u64::wrapping_add);
    /// Adds the two integers of 16 bits in a word; what does not fit wraps.
    ADD_I16X2 = INTEGERS.add_16(2) Alike |a| in_lanes::<16>(a, u64::wrapping_add);
    /// Repeats 8 bits in the whole word.
    SPLAT_8 = INTEGERS.splat_8(1) Alike |a| (a[0] & 0xff) * 0x0101_0101;
    /// Repeats 16 bits in the whole word.
    SPLAT_16 = INTEGERS.splat_16(1) Alike |a| (a[0] & 0xffff) * 0x0001_0001;
    /// Adds integers of up to 32 bits; what does not fit wraps.
    ADD_I32 = INTEGERS.add(2) Alike |a| low(a[0]).wrapping_add(low(a[1])).into();
    /// Adds integers of 64 bits; what does not fit wraps.
    ADD_I64 = WIDE.add(2) Alike |a| a[0].wrapping_add(a[1]);
    /// The same number.
    F16_TO_F32 = F16.f16_to_f32(1) Alike |a| half(a[0]).to_f32().to_bits().into();
    /// The nearest half.
    F32_TO_F16 = F16.f32_to_f16(1) Alike |a| half::f16::from_f32(f32(a[0])).to_bits().into();
    /// The last 8 bits, as if they had been stored and loaded.
    ZERO_EXTEND_8 = INTEGERS.zero_extend_8(1) Alike |a| a[0] & 0xff;
    /// The last 16 bits, as if they had been stored and loaded.
    ZERO_EXTEND_16 = INTEGERS.zero_extend_16(1) Alike |a| a[0] & 0xffff;
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

/// What `of` gives for the same `BITS` bits of two words, in each place of a word.
fn in_lanes<const BITS: usize>(a: &[u64], of: fn(u64, u64) -> u64) -> u64 {
    let lane = |at| (of(a[0] >> at, a[1] >> at) & ((1 << BITS) - 1)) << at;
    (0..32).step_by(BITS).map(lane).sum()
}

/// The greater of two numbers of 32 bits, of which +0 is above -0; a NaN where one is, of two the second.
fn maximum(a: u64, b: u64) -> u64 {
    let is_greater = f32(a).total_cmp(&f32(b)).is_gt();
    if f32(b).is_nan() || !(f32(a).is_nan() || is_greater) { b } else { a }
}

/// The lesser one in the same way.
fn minimum(a: u64, b: u64) -> u64 {
    let is_less = f32(a).total_cmp(&f32(b)).is_lt();
    if f32(b).is_nan() || !(f32(a).is_nan() || is_less) { b } else { a }
}

/// 64 bits of two words, the low one first.
fn wide(words: &[u64]) -> u64 {
    words[0] | words[1] << 32
}

fn word(value: i32) -> u64 {
    value.cast_unsigned().into()
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
