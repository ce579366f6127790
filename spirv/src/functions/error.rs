//! Twins of `kernels/functions/error.glsl`.

use super::pairs::{INFINITY, NAN, Pair, SIGN, magnitude, ordered_sum, polynomial};
use super::{Function, Shape, low};
use crate::kernels::ERROR;

functions! {
    /// The Gauss error function; the error is below 1 unit in the last place.
    ERF_F32 = ERROR.erf(1) Alike |a| erf(low(a[0])).into();
    /// `x / 2 * (1 + erf(x / sqrt(2)))`; the error is below 2 units in the last place.
    GELU_F32 = ERROR.gelu(1) Alike |a| gelu(low(a[0])).into();
}

const NEAR_0: [f32; 8] = [
    1.113_101_3e-6,
    -1.411_945_05e-5,
    1.198_947_5e-4,
    -8.545_301e-4,
    5.223_901_5e-3,
    -0.026_866_16,
    0.112_837_92,
    -0.376_126_38,
];

const COMPLEMENT: [f32; 11] = [
    -7.1256707e-04,
    -3.217215e-04,
    6.222886e-03,
    -2.6325261e-02,
    7.636574e-02,
    -1.7401947e-01,
    3.3085242e-01,
    -5.4085326e-01,
    7.732087e-01,
    -9.7654873e-01,
    1.0959957e+00,
];

fn error_near_0(a: Pair) -> Pair {
    let [number, _] = a.parts();
    let square = number * number;
    let p = polynomial(square, &NEAR_0);
    let [sum, lost] = ordered_sum(std::f32::consts::FRAC_2_SQRT_PI, square * p);
    a.times(Pair::constant(sum, lost - 5.863_538_3e-8))
}

fn error_complement(a: Pair) -> Pair {
    let more = a.plus(Pair::constant(4.0, 0.0));
    let [y, _] = a.plus(Pair::constant(-4.0, 0.0)).over(more).parts();
    let q = polynomial(y, &COMPLEMENT);
    a.times(a).opposite().exponential().times(Pair::constant(q, 0.0).over(more))
}

fn erf(x: u32) -> u32 {
    if magnitude(x) > INFINITY {
        return NAN;
    }
    let number = Pair::of(magnitude(x));
    let result = match magnitude(x) < 0x3f80_0000 {
        true => error_near_0(number),
        false => Pair::ONE.plus(error_complement(number).opposite()),
    };
    result.rounded() | (x & SIGN)
}

fn gelu(x: u32) -> u32 {
    if magnitude(x) > INFINITY || x == SIGN | INFINITY {
        return NAN;
    }
    let root = Pair::constant(std::f32::consts::FRAC_1_SQRT_2, 1.210_161_75e-8);
    let argument = Pair::of(magnitude(x)).times(root);
    let twice = match (magnitude(x) < 0x3f35_04f3, x >= SIGN) {
        (true, true) => Pair::ONE.plus(error_near_0(argument).opposite()),
        (true, false) => Pair::ONE.plus(error_near_0(argument)),
        (false, true) => error_complement(argument),
        (false, false) => Pair::constant(2.0, 0.0).plus(error_complement(argument).opposite()),
    };
    Pair::of(x).times(twice).scaled(-1.0).rounded()
}
