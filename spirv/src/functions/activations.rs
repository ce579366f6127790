//! Activations and their gradients.

use super::arithmetic::{maximum, minimum, wide};
use super::{Function, Shape, f32, i32, low, word};
use crate::kernels::{ACTIVATIONS, INTEGERS, WIDE};

functions! {
    /// The greater of the number and 0; NaN stays NaN.
    RELU_F32 = ACTIVATIONS.relu(1) Alike |a| maximum(a[0], 0);
    /// The greater of the integer and 0.
    RELU_I32 = INTEGERS.relu_i32(1) Alike |a| word(i32(a[0]).max(0));
    /// `x * Alpha` for a number with the sign bit set, -0 included, else the number; NaN stays NaN.
    LEAKY_RELU_F32 = ACTIVATIONS.leaky_relu(1; 1) Alike |a| {
        let is_kept = f32(a[0]).is_nan() || f32(a[0]).is_sign_positive();
        if is_kept { a[0] } else { (f32(a[0]) * f32(a[1])).to_bits().into() }
    };
    /// `x * slope` for a number with the sign bit set, -0 included, else the number; NaN stays NaN.
    PARAMETERIZED_RELU_F32 = ACTIVATIONS.parameterized_relu(2) Alike |a| {
        let is_kept = f32(a[0]).is_nan() || f32(a[0]).is_sign_positive();
        if is_kept { a[0] } else { (f32(a[0]) * f32(a[1])).to_bits().into() }
    };
    /// `x * slope` for a negative integer of up to 32 bits, else the integer; overflow wraps.
    PARAMETERIZED_RELU_I32 = INTEGERS.parameterized_relu_i32(2) Alike |a| match i32(a[0]) {
        0.. => a[0],
        x => word(x.wrapping_mul(i32(a[1]))),
    };
    /// The number if it is above the parameter, else 0.
    THRESHOLDED_RELU_F32 = ACTIVATIONS.thresholded_relu(1; 1) Alike |a| {
        if f32(a[0]) > f32(a[1]) { a[0] } else { 0 }
    };
    /// `x - bias` above the threshold, `x + bias` below its opposite, else 0. The parameters are bias
    /// and threshold.
    SHRINK_F32 = ACTIVATIONS.shrink(1; 2) Alike |a| match [f32(a[0]), f32(a[1]), f32(a[2])] {
        [x, bias, threshold] if x > threshold => (x - bias).to_bits().into(),
        [x, bias, threshold] if x < -threshold => (x + bias).to_bits().into(),
        _ => 0,
    };
    /// As [`SHRINK_F32`], for signed integers of up to 32 bits; overflow wraps.
    SHRINK_I32 = INTEGERS.shrink_i32(1; 2) Alike |a| match [i32(a[0]), i32(a[1]), i32(a[2])] {
        [x, bias, threshold] if x > threshold => word(x.wrapping_sub(bias)),
        [x, bias, threshold] if i64::from(x) < -i64::from(threshold) => word(x.wrapping_add(bias)),
        _ => 0,
    };
    /// As [`SHRINK_F32`], for unsigned integers of up to 32 bits, which are never below the threshold's opposite.
    SHRINK_U32 = INTEGERS.shrink_u32(1; 2) Alike |a| {
        if a[0] > a[2] { low(a[0]).wrapping_sub(low(a[1])).into() } else { 0 }
    };
    /// `max(0, min(alpha * x + beta, 1))`, each step rounded to nearest; NaN stays NaN.
    HARD_SIGMOID_F32 = ACTIVATIONS.hard_sigmoid(1; 2) Alike |a| hard_sigmoid(a).to_bits().into();
    /// `x` times [`HARD_SIGMOID_F32`] of `x`, rounded to nearest.
    HARD_SWISH_F32 = ACTIVATIONS.hard_swish(1; 2) Alike |a| (f32(a[0]) * hard_sigmoid(a)).to_bits().into();
    /// `x / (1 + |x|)`, each step rounded to nearest.
    SOFTSIGN_F32 = ACTIVATIONS.softsign(1) Alike |a| {
        let x = f32(a[0]);
        (x / (1.0 + x.abs())).to_bits().into()
    };
    /// The second number if the first is above 0, else 0.
    RELU_GRADIENT_F32 = ACTIVATIONS.relu_gradient(2) Alike |a| if f32(a[0]) > 0.0 { a[1] } else { 0 };
    /// As [`RELU_GRADIENT_F32`], for signed integers of up to 32 bits.
    RELU_GRADIENT_I32 = INTEGERS.relu_gradient_i32(2) Alike |a| if i32(a[0]) > 0 { a[1] } else { 0 };
    /// 0 if the first number is at most the first parameter or at least the second one, else the second number.
    CLIP_GRADIENT_F32 = ACTIVATIONS.clip_gradient(2; 2) Alike |a| {
        let is_outside = f32(a[0]) <= f32(a[2]) || f32(a[0]) >= f32(a[3]);
        if is_outside { 0 } else { a[1] }
    };
    /// As [`CLIP_GRADIENT_F32`], for signed integers of up to 32 bits.
    CLIP_GRADIENT_I32 = INTEGERS.clip_gradient_i32(2; 2) Alike |a| {
        if i32(a[0]) > i32(a[2]) && i32(a[0]) < i32(a[3]) { a[1] } else { 0 }
    };
    /// As [`CLIP_GRADIENT_F32`], for unsigned integers of up to 32 bits.
    CLIP_GRADIENT_U32 = INTEGERS.clip_gradient_u32(2; 2) Alike |a| {
        if a[0] > a[2] && a[0] < a[3] { a[1] } else { 0 }
    };
    /// As [`CLIP_GRADIENT_F32`], for signed integers of 64 bits. Each parameter has two words, the low one first.
    CLIP_GRADIENT_I64 = WIDE.clip_gradient_i64(2; 4) Alike |a| {
        let [x, least, most] = [a[0], wide(&a[2..]), wide(&a[4..])].map(u64::cast_signed);
        if x > least && x < most { a[1] } else { 0 }
    };
    /// As [`CLIP_GRADIENT_F32`], for unsigned integers of 64 bits. Each parameter has two words, the low one first.
    CLIP_GRADIENT_U64 = WIDE.clip_gradient_u64(2; 4) Alike |a| {
        if a[0] > wide(&a[2..]) && a[0] < wide(&a[4..]) { a[1] } else { 0 }
    };
}

fn hard_sigmoid(a: &[u64]) -> f32 {
    let line = f32(a[0]) * f32(a[1]) + f32(a[2]);
    let bits = |it: f32| u64::from(it.to_bits());
    f32(maximum(minimum(bits(line), bits(1.0)), 0))
}
