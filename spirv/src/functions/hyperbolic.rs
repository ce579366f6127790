//! Twins of `kernels/functions/hyperbolic.glsl`. Errors are below 1 unit in the last place.

use super::pairs::{INFINITY, Pair, SIGN, magnitude, unless};
use super::{Function, Shape, low};
use crate::kernels::HYPERBOLIC;

functions! {
    /// The hyperbolic sine.
    SINH_F32 = HYPERBOLIC.sinh_f32(1) Alike |a| sinh(low(a[0])).into();
    /// The hyperbolic cosine.
    COSH_F32 = HYPERBOLIC.cosh_f32(1) Alike |a| cosh(low(a[0])).into();
    /// The inverse hyperbolic sine.
    ASINH_F32 = HYPERBOLIC.asinh_f32(1) Alike |a| asinh(low(a[0])).into();
    /// The inverse hyperbolic cosine.
    ACOSH_F32 = HYPERBOLIC.acosh_f32(1) Alike |a| acosh(low(a[0])).into();
    /// The inverse hyperbolic tangent.
    ATANH_F32 = HYPERBOLIC.atanh_f32(1) Alike |a| atanh(low(a[0])).into();
}

/// Numbers below it are their own inverse hyperbolic sine and tangent.
const SMALL: u32 = 0x3980_0000;
const ONE: u32 = 0x3f80_0000;

fn sinh(x: u32) -> u32 {
    let less_1 = Pair::of(magnitude(x)).exponential_less_1();
    let sum = less_1.plus(less_1.over(less_1.plus(Pair::ONE)));
    unless(magnitude(x) > INFINITY, sum.scaled(-1.0).rounded() | (x & SIGN))
}

fn cosh(x: u32) -> u32 {
    let power = Pair::of(magnitude(x)).exponential();
    let sum = power.plus(Pair::ONE.over(power));
    unless(magnitude(x) > INFINITY, sum.scaled(-1.0).rounded())
}

fn asinh(x: u32) -> u32 {
    if magnitude(x) < SMALL || magnitude(x) == INFINITY {
        return x;
    }
    let number = Pair::of(magnitude(x));
    let root = number.times(number).plus(Pair::ONE).square_root();
    unless(magnitude(x) > INFINITY, number.plus(root).logarithm().rounded() | (x & SIGN))
}

fn acosh(x: u32) -> u32 {
    if x == INFINITY {
        return x;
    }
    let number = Pair::of(magnitude(x));
    let root = number.plus(Pair::ONE.opposite()).times(number.plus(Pair::ONE)).square_root();
    unless(!(ONE..INFINITY).contains(&x), number.plus(root).logarithm().rounded())
}

fn atanh(x: u32) -> u32 {
    match magnitude(x) {
        ..SMALL => return x,
        ONE => return INFINITY | (x & SIGN),
        _ => {}
    }
    let number = Pair::of(magnitude(x));
    let quotient = Pair::ONE.plus(number).over(Pair::ONE.plus(number.opposite()));
    unless(magnitude(x) > ONE, quotient.logarithm().scaled(-1.0).rounded() | (x & SIGN))
}
