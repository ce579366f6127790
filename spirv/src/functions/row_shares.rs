//! Twins of `kernels/functions/row_shares.glsl`, the parts of softmax. Errors are below 1 unit in the last place.

use super::pairs::{INFINITY, Pair, SIGN, exact_sum, magnitude, unless};
use super::{Function, Shape, low};
use crate::kernels::ROW_SHARES;

functions! {
    /// `e^(x - m)` of an element and its row's maximum, or 0 if that is below 2^-102.
    EXP_BELOW_F32 = ROW_SHARES.exp_below(2) Alike |a| power_below(low(a[0]), low(a[1])).into();
    /// `e^(x - m) / sum`, the softmax.
    SOFTMAX_F32 = ROW_SHARES.softmax(3) Alike |a| share(low(a[0]), low(a[1]), low(a[2])).into();
    /// The logarithm of a sum in two words.
    LOG_SUM_F32 = ROW_SHARES.log_sum(2) Alike |a| log_sum(low(a[0]), low(a[1])).into();
    /// `x - m - ln(sum)`, with the logarithm as an argument.
    LOG_SOFTMAX_F32 = ROW_SHARES.log_softmax(3) Alike
        |a| log_share(low(a[0]), low(a[1]), low(a[2])).into();
}

/// 2^-102.
const LEAST_POWER: u32 = 0x0c80_0000;

fn has_no_share(m: u32) -> bool {
    magnitude(m) >= INFINITY
}

fn distance_below(x: u32, m: u32) -> Pair {
    Pair::of(x).plus(Pair::of(m).opposite()).normalized()
}

fn power_below(x: u32, m: u32) -> u32 {
    let power = distance_below(x, m).exponential().rounded();
    unless(has_no_share(m), if power < LEAST_POWER { 0 } else { power })
}

fn share(x: u32, m: u32, sum: u32) -> u32 {
    let power = power_below(x, m);
    let share = || distance_below(x, m).exponential().over(Pair::of(sum)).rounded();
    if power == 0 || has_no_share(m) { power } else { share() }
}

fn log_sum(sum: u32, rest: u32) -> u32 {
    let [high, low] = exact_sum(f32::from_bits(sum), f32::from_bits(rest));
    let result = match high == 1.0 {
        true => low.to_bits(),
        false => Pair::constant(high, low).logarithm().rounded(),
    };
    unless(magnitude(sum) > INFINITY, result)
}

fn log_share(x: u32, m: u32, logarithm: u32) -> u32 {
    let is_greatest = x == m || magnitude(x | m) == 0;
    let distant = || distance_below(x, m).plus(Pair::of(logarithm).opposite()).rounded();
    unless(has_no_share(m), if is_greatest { logarithm ^ SIGN } else { distant() })
}
