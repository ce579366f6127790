//! Functions that Rust's library lacks. Real functions are in double precision, with a relative error below
//! 10^-13.

use std::f64::consts::FRAC_2_SQRT_PI;

/// The Gauss error function.
pub(super) fn erf(x: f64) -> f64 {
    match x.abs() {
        it if it < 2.0 => error_series(x),
        it if it >= 2.0 => (1.0 - error_fraction(it)).copysign(x),
        _ => x,
    }
}

/// 1 - erf(x).
pub(super) fn error_complement(x: f64) -> f64 {
    if x < 1.0 { 1.0 - erf(x) } else { error_fraction(x) }
}

/// erf(x) by its series `2 / sqrt(pi) * e^(-x^2) * sum of 2^n x^(2n + 1) / (1 * 3 * .. * (2n + 1))`, whose
/// terms do not cancel.
fn error_series(x: f64) -> f64 {
    let mut term = x;
    let mut sum = x;
    for n in 1..80 {
        term *= 2.0 * x * x / f64::from(2 * n + 1);
        sum += term;
    }
    FRAC_2_SQRT_PI * (-x * x).exp() * sum
}

/// 1 - erf(x) for x >= 1, by its continued fraction
/// `e^(-x^2) / sqrt(pi) / (x + (1/2) / (x + 1 / (x + (3/2) / (x + ..))))`.
fn error_fraction(x: f64) -> f64 {
    if x.is_infinite() {
        return 0.0;
    }
    let denominator = (1..400).rev().fold(x, |rest, n| x + f64::from(n) / 2.0 / rest);
    0.5 * FRAC_2_SQRT_PI * (-x * x).exp() / denominator
}

/// ln(1 + e^z), which is positive for finite numbers.
pub(super) fn soft_maximum(z: f64) -> f64 {
    let above = (-z.abs()).exp().ln_1p();
    match z {
        f64::NEG_INFINITY => 0.0,
        _ if z > 0.0 => z + above,
        _ if z.is_nan() => z,
        _ => above.max(f64::MIN_POSITIVE),
    }
}

/// The last 64 bits of `base^exponent`. For negative exponents it is rounded toward zero, and 0 if `base` is 0.
pub(super) fn integer_power(base: i128, exponent: i128) -> i128 {
    match (base, exponent) {
        (1, _) => 1,
        (-1, _) => 1 - 2 * exponent.rem_euclid(2),
        (_, ..0) => 0,
        _ => {
            // By the exponent's bits, the highest one first.
            let bits = (0..64).rev().map(|at| exponent >> at & 1 == 1);
            bits.fold(1, |power: i128, is_set| {
                let square = power.wrapping_mul(power);
                if is_set { square.wrapping_mul(base) } else { square }
            })
        }
    }
}
