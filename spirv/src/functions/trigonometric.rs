//! Twins of `kernels/functions/trigonometric.glsl`.

use super::pairs::{INFINITY, Pair, SIGN, magnitude, ordered_sum, polynomial, unless};
use super::{Function, Shape, low};
use crate::kernels::TRIGONOMETRIC;

functions! {
    /// The sine; the error is below 1 unit in the last place, as with all functions here.
    SIN_F32 = TRIGONOMETRIC.sin_f32(1) Alike |a| sin(low(a[0])).into();
    /// The cosine.
    COS_F32 = TRIGONOMETRIC.cos_f32(1) Alike |a| cos(low(a[0])).into();
    /// The tangent.
    TAN_F32 = TRIGONOMETRIC.tan_f32(1) Alike |a| tan(low(a[0])).into();
    /// The inverse tangent.
    ATAN_F32 = TRIGONOMETRIC.atan_f32(1) Alike |a| atan(low(a[0])).into();
    /// The angle of the point with the first number as y and the second as x.
    ATAN_YX_F32 = TRIGONOMETRIC.atan_yx(2) Alike |a| atan_yx(low(a[0]), low(a[1])).into();
    /// The inverse sine.
    ASIN_F32 = TRIGONOMETRIC.asin_f32(1) Alike |a| asin(low(a[0])).into();
    /// The inverse cosine.
    ACOS_F32 = TRIGONOMETRIC.acos_f32(1) Alike |a| acos(low(a[0])).into();
}

const QUARTER_TURN: Pair = Pair::constant(std::f32::consts::FRAC_PI_2, -4.371_139e-8);
const EIGHTH_TURN: Pair = Pair::constant(std::f32::consts::FRAC_PI_4, -2.185_569_4e-8);
/// pi / 4, rounded down.
const EIGHTH_TURN_BITS: u32 = 0x3f49_0fda;
const ONE: u32 = 0x3f80_0000;

/// The binary digits of 2 / pi.
const DIGITS: [u32; 8] =
    [0, 0xa2f9_836e, 0x4e44_1529, 0xfc27_57d1, 0xf534_ddc0, 0xdb62_9599, 0x3c43_9041, 0xfe51_63ab];

const SINE: [f32; 4] = [2.724_962e-6, -1.984_008_4e-4, 8.333_332e-3, -0.166_666_67];
const COSINE: [f32; 3] = [2.454_769e-5, -1.388_830_1e-3, 0.041_666_664];
const ARC_TANGENT: [f32; 6] =
    [0.050_461_28, -0.086_238_965, 0.110_712_6, -0.142_841_46, 0.199_999_76, -0.333_333_34];

/// 32 binary digits from the `at`-th on.
fn digits_from(at: i32) -> u32 {
    let [word, by] = [at as usize >> 5, at as usize & 31];
    (DIGITS[word] << by) | ((DIGITS[word + 1] >> 1) >> (31 - by))
}

/// An angle above pi / 4 reduced by quarter turns, and the number of these modulo 4.
fn reduced(angle: u32) -> (Pair, u32) {
    let exponent = (angle >> 23) as i32 - 127;
    let m = (angle & 0x007f_ffff) | 0x0080_0000;
    let product = |at| u64::from(m) * u64::from(digits_from(exponent + at));
    let fraction = (product(7) << 32).wrapping_add(product(39)).wrapping_add(product(71) >> 32);
    let turns = low(fraction >> 32).wrapping_add(0x2000_0000) >> 30;
    let rest = (fraction << 2).cast_signed();
    let by = rest.unsigned_abs().leading_zeros();
    let leading = rest.unsigned_abs() << by;
    let high = (leading >> 40) as f32;
    let low = (leading >> 16 & 0xff_ffff) as f32 * 2_f32.powi(-24);
    let unit = if rest < 0 { -(2_f32.powi(-23)) } else { 2_f32.powi(-23) };
    let part = Pair::new([high * unit, low * unit], (-1 - by.cast_signed()) as f32);
    (part.times(QUARTER_TURN), turns)
}

fn angle(x: u32) -> (Pair, u32) {
    let angle = magnitude(x).min(INFINITY - 1);
    if angle <= EIGHTH_TURN_BITS { (Pair::of(angle), 0) } else { reduced(angle) }
}

fn sine(a: Pair) -> Pair {
    let [number, lost] = a.parts();
    let square = number * number;
    let s = polynomial(square, &SINE);
    if a.exponent < -30.0 {
        return a;
    }
    Pair::new(ordered_sum(number, lost + number * square * s), 0.0)
}

fn cosine(a: Pair) -> Pair {
    let [half, lost] = a.times(a).scaled(-1.0).parts();
    let square = half * 2.0;
    let c = polynomial(square, &COSINE);
    let [sum, rest] = ordered_sum(1.0, -half);
    Pair::new(ordered_sum(sum, (rest - lost) + square * square * c), 0.0)
}

fn sin(x: u32) -> u32 {
    let (rest, turns) = angle(x);
    let result = if turns & 1 == 0 { sine(rest) } else { cosine(rest) };
    let sign = (turns & 2) << 30;
    unless(magnitude(x) >= INFINITY, result.rounded() ^ sign ^ (x & SIGN))
}

fn cos(x: u32) -> u32 {
    let (rest, turns) = angle(x);
    let result = if turns & 1 == 0 { cosine(rest) } else { sine(rest) };
    let sign = ((turns + 1) & 2) << 30;
    unless(magnitude(x) >= INFINITY, result.rounded() ^ sign)
}

fn tan(x: u32) -> u32 {
    let (rest, turns) = angle(x);
    let (s, c) = (sine(rest), cosine(rest));
    let result = if turns & 1 == 0 { s.over(c) } else { c.over(s) };
    unless(magnitude(x) >= INFINITY, result.rounded() ^ ((turns & 1) << 31) ^ (x & SIGN))
}

fn small_angle(a: Pair) -> Pair {
    let [number, lost] = a.parts();
    let square = number * number;
    let t = polynomial(square, &ARC_TANGENT);
    if a.exponent < -30.0 {
        return a;
    }
    Pair::new(ordered_sum(number, lost + number * square * t), 0.0)
}

fn angle_of(y: Pair, x: Pair) -> Pair {
    let is_steep = y.plus(x.opposite()).high > 0.0;
    let (less, greater) = if is_steep { (x, y) } else { (y, x) };
    let turned = less.plus(greater.opposite()).over(less.plus(greater));
    let acute = match turned.parts()[0] < -0.414_213_56 {
        true => small_angle(less.over(greater)),
        false => EIGHTH_TURN.plus(small_angle(turned)),
    };
    if is_steep { QUARTER_TURN.plus(acute.opposite()) } else { acute }
}

fn atan(x: u32) -> u32 {
    let result = angle_of(Pair::of(magnitude(x)), Pair::ONE);
    unless(magnitude(x) > INFINITY, result.rounded() | (x & SIGN))
}

fn supplement(a: Pair) -> Pair {
    QUARTER_TURN.scaled(1.0).plus(a.opposite())
}

fn atan_yx(y: u32, x: u32) -> u32 {
    let below = if magnitude(y) == 0 { 16384.0 } else { 0.0 };
    let acute = angle_of(Pair::of(magnitude(y)).scaled(-below), Pair::of(magnitude(x)));
    let result = if x < SIGN { acute } else { supplement(acute) };
    unless(magnitude(y).max(magnitude(x)) > INFINITY, result.rounded() | (y & SIGN))
}

fn other_side(x: Pair) -> Pair {
    Pair::ONE.plus(x.opposite()).times(Pair::ONE.plus(x)).square_root()
}

fn asin(x: u32) -> u32 {
    let number = Pair::of(magnitude(x));
    let result = angle_of(number, other_side(number));
    unless(magnitude(x) > ONE, result.rounded() | (x & SIGN))
}

fn acos(x: u32) -> u32 {
    let number = Pair::of(magnitude(x));
    let acute = angle_of(other_side(number), number);
    let result = if x < SIGN { acute } else { supplement(acute) };
    unless(magnitude(x) > ONE, result.rounded())
}
