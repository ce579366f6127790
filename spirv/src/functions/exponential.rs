//! Twins of `kernels/functions/exponential.glsl`. Errors are below 1 unit in the last place.

use super::pairs::{INFINITY, Pair, SIGN, is_undefined_product, magnitude, unless};
use super::{Function, Shape, low};
use crate::kernels::EXPONENTIAL;

functions! {
    /// e^x.
    EXP_F32 = EXPONENTIAL.exp_f32(1) Alike |a| exp(low(a[0])).into();
    /// ln(x).
    LOG_F32 = EXPONENTIAL.log_f32(1) Alike |a| log(low(a[0])).into();
    /// `1 / (1 + e^-x)`.
    SIGMOID_F32 = EXPONENTIAL.sigmoid(1) Alike |a| sigmoid(low(a[0])).into();
    /// `x / (1 + e^(-scale * x))`.
    SWISH_F32 = EXPONENTIAL.swish(1; 1) Alike |a| swish(low(a[0]), low(a[1])).into();
    /// The hyperbolic tangent.
    TANH_F32 = EXPONENTIAL.tanh_f32(1) Alike |a| tanh(low(a[0])).into();
    /// `alpha * tanh(beta * x)`.
    SCALED_TANH_F32 = EXPONENTIAL.scaled_tanh(1; 2) Alike
        |a| scaled_tanh(low(a[0]), low(a[1]), low(a[2])).into();
    /// `alpha * (e^x - 1)` for negative numbers, else the number.
    ELU_F32 = EXPONENTIAL.elu(1; 1) Alike |a| elu(low(a[0]), low(a[1])).into();
    /// `alpha * (e^(x / alpha) - 1)` for negative numbers, else the number.
    CELU_F32 = EXPONENTIAL.celu(1; 1) Alike |a| celu(low(a[0]), low(a[1])).into();
    /// `gamma * x` for positive numbers, else `gamma * alpha * (e^x - 1)`.
    SCALED_ELU_F32 = EXPONENTIAL.scaled_elu(1; 2) Alike
        |a| scaled_elu(low(a[0]), low(a[1]), low(a[2])).into();
    /// `ln(1 + e^(steepness * x)) / steepness`.
    SOFTPLUS_F32 = EXPONENTIAL.softplus(1; 1) Alike |a| softplus(low(a[0]), low(a[1])).into();
    /// `alpha * ln(1 + e^(beta * x))`.
    PARAMETRIC_SOFTPLUS_F32 = EXPONENTIAL.parametric_softplus(1; 2) Alike
        |a| parametric_softplus(low(a[0]), low(a[1]), low(a[2])).into();
}

fn is_nan(x: u32) -> bool {
    magnitude(x) > INFINITY
}

fn exp(x: u32) -> u32 {
    unless(is_nan(x), Pair::of(x).exponential().rounded())
}

fn log(x: u32) -> u32 {
    match x {
        0 | SIGN => SIGN | INFINITY,
        INFINITY => INFINITY,
        _ => unless(is_nan(x) || x > SIGN, Pair::of(x).logarithm().rounded()),
    }
}

fn logistic(x: Pair) -> Pair {
    Pair::ONE.over(x.opposite().exponential().plus(Pair::ONE))
}

fn sigmoid(x: u32) -> u32 {
    unless(is_nan(x), logistic(Pair::of(x)).rounded())
}

fn swish(x: u32, scale: u32) -> u32 {
    let number = Pair::of(x);
    let has_none = magnitude(x) == INFINITY && (x ^ scale) >= SIGN;
    let result = number.times(logistic(number.times(Pair::of(scale))));
    unless(has_none || is_undefined_product(x, scale), result.rounded())
}

fn hyperbolic_tangent(x: Pair) -> Pair {
    let less_1 = x.scaled(1.0).exponential_less_1();
    less_1.over(less_1.plus(Pair::constant(2.0, 0.0)))
}

fn tanh(x: u32) -> u32 {
    unless(is_nan(x), hyperbolic_tangent(Pair::of(x)).rounded())
}

fn scaled_tanh(x: u32, alpha: u32, beta: u32) -> u32 {
    let tangent = hyperbolic_tangent(Pair::of(x).times(Pair::of(beta)));
    let is_not_0 = magnitude(x).min(magnitude(beta)).min(1);
    let has_none = is_undefined_product(x, beta) || is_undefined_product(alpha, is_not_0);
    unless(has_none, Pair::of(alpha).times(tangent).rounded())
}

fn is_kept(x: u32) -> bool {
    x <= SIGN || is_nan(x)
}

fn elu(x: u32, alpha: u32) -> u32 {
    let result = || Pair::of(alpha).times(Pair::of(x).exponential_less_1());
    if is_kept(x) { x } else { unless(is_nan(alpha), result().rounded()) }
}

fn celu(x: u32, alpha: u32) -> u32 {
    let factor = Pair::of(alpha);
    let result = || factor.times(Pair::of(x).over(factor).exponential_less_1());
    let has_none = magnitude(alpha) >= INFINITY || alpha == SIGN;
    if is_kept(x) { x } else { unless(has_none, result().rounded()) }
}

fn scaled_elu(x: u32, alpha: u32, gamma: u32) -> u32 {
    let is_straight = (1..=INFINITY).contains(&x);
    let number = Pair::of(x);
    let unscaled = match is_straight {
        true => number,
        false => Pair::of(alpha).times(number.exponential_less_1()),
    };
    let factor = if is_straight { x } else { alpha };
    let has_none = is_nan(x)
        || is_undefined_product(gamma, factor)
        || (magnitude(x) == 0 && magnitude(alpha).max(magnitude(gamma)) >= INFINITY);
    unless(has_none, Pair::of(gamma).times(unscaled).rounded())
}

fn soft_maximum(z: Pair) -> Pair {
    let is_negative = z.high < 0.0;
    let power = (if is_negative { z } else { z.opposite() }).exponential();
    let above = match power.exponent < -15.0 {
        true => power.times(Pair::ONE.plus(power.opposite().scaled(-1.0))),
        false => Pair::ONE.plus(power).logarithm(),
    };
    if is_negative { above } else { z.plus(above) }
}

fn softplus(x: u32, steepness: u32) -> u32 {
    let factor = Pair::of(steepness);
    let has_none = magnitude(steepness) == INFINITY && (x ^ steepness) < SIGN;
    let result = soft_maximum(Pair::of(x).times(factor)).over(factor);
    unless(has_none || is_undefined_product(x, steepness), result.rounded())
}

fn parametric_softplus(x: u32, alpha: u32, beta: u32) -> u32 {
    let above = soft_maximum(Pair::of(x).times(Pair::of(beta)));
    let is_beyond = magnitude(x).max(magnitude(beta)) == INFINITY;
    let logarithm_of = match (is_beyond, (x ^ beta) < SIGN) {
        (true, true) => INFINITY,
        (true, false) => 0,
        (false, _) => 1,
    };
    let has_none = is_undefined_product(x, beta) || is_undefined_product(alpha, logarithm_of);
    unless(has_none, Pair::of(alpha).times(above).rounded())
}
