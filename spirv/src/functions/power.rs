//! Twins of `kernels/functions/power.glsl`.

use super::pairs::{INFINITY, Pair, SIGN, magnitude, unless};
use super::{Function, Shape, i32, low, word};
use crate::kernels::POWER;

functions! {
    /// The first number to the power of the second; the error is below 1 unit in the last place.
    POW_F32 = POWER.pow_f32(2) Alike |a| pow(low(a[0]), low(a[1])).into();
    /// As [`POW_F32`], with the exponent as a parameter.
    CONSTANT_POW_F32 = POWER.constant_pow(1; 1) Alike |a| pow(low(a[0]), low(a[1])).into();
    /// The root of a number that is not negative, with the degree as a parameter; error below 1 unit in
    /// the last place.
    ROOT_F32 = POWER.root(1; 1) Alike |a| root(low(a[0]), low(a[1])).into();
    /// An unsigned integer of up to 32 bits to an unsigned power; overflow wraps.
    POW_U32 = POWER.pow_u32(2) Alike |a| low(a[0]).wrapping_pow(low(a[1])).into();
    /// An unsigned integer to a signed power. With a negative exponent the result is truncated towards 0, and 0 for
    /// the base 0.
    POW_U32_I32 = POWER.pow_u32_i32(2) Alike |a| match i32(a[1]) {
        ..0 => (a[0] == 1).into(),
        _ => low(a[0]).wrapping_pow(low(a[1])).into(),
    };
    /// A signed integer to a signed power, as [`POW_U32_I32`].
    POW_I32 = POWER.pow_i32(2) Alike |a| match (i32(a[0]), i32(a[1])) {
        (-1, exponent) => word(1 - 2 * (exponent & 1)),
        (base, ..0) => (base == 1).into(),
        (base, _) => word(base.wrapping_pow(low(a[1]))),
    };
}

const ONE: u32 = 0x3f80_0000;

/// The kind of an exponent: fraction, odd or even integer.
#[derive(PartialEq)]
enum Kind {
    Fraction,
    Odd,
    /// An even integer, or infinite.
    Even,
}

fn kind(y: u32) -> Kind {
    let exponent = (magnitude(y) >> 23) as i32 - 127;
    let significand = (y & 0x007f_ffff) | 0x0080_0000;
    match exponent {
        _ if magnitude(y) == 0 => Kind::Even,
        ..0 => Kind::Fraction,
        24.. => Kind::Even,
        _ if (significand << exponent) & 0x007f_ffff != 0 => Kind::Fraction,
        _ if (significand << exponent) & 0x0080_0000 != 0 => Kind::Odd,
        _ => Kind::Even,
    }
}

fn pow(x: u32, y: u32) -> u32 {
    let (is_0, is_infinite) = (magnitude(x) == 0, magnitude(x) == INFINITY);
    let is_nan = magnitude(x).max(magnitude(y)) > INFINITY;
    let sign = if kind(y) == Kind::Odd { x & SIGN } else { 0 };
    match (is_0, is_infinite) {
        _ if x == ONE || magnitude(y) == 0 => ONE,
        _ if is_nan => super::pairs::NAN,
        (true, _) => sign | if y < SIGN { 0 } else { INFINITY },
        (_, true) => sign | if y < SIGN { INFINITY } else { 0 },
        _ => {
            let power = Pair::of(y).times(Pair::of(magnitude(x)).logarithm()).exponential();
            unless(x > SIGN && kind(y) == Kind::Fraction, power.rounded() | sign)
        }
    }
}

fn root(x: u32, degree: u32) -> u32 {
    let is_special = magnitude(x) == 0 || magnitude(x) >= INFINITY || x == ONE;
    let root = || Pair::of(magnitude(x)).logarithm().over(Pair::of(degree)).normalized();
    if is_special { x } else { root().exponential().rounded() }
}
