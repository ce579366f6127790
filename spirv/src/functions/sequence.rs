//! Sequences: the element at an index.

use super::arithmetic::wide;
use super::{Function, Shape, low};
use crate::kernels::{F64, INTEGERS, WIDE};

functions! {
    /// `start + index * delta` for integers of up to 32 bits, with start and delta as parameters; overflow wraps.
    SEQUENCE_I32 = INTEGERS.sequence(1; 2) Alike |a| {
        low(a[1]).wrapping_add(low(a[0]).wrapping_mul(low(a[2]))).into()
    };
    /// `start + index * delta` for integers of 64 bits. Each parameter has two words, the low one first.
    SEQUENCE_I64 = WIDE.sequence(1; 4) Alike |a| {
        wide(&a[1..]).wrapping_add(a[0].wrapping_mul(wide(&a[3..])))
    };
    /// The double of `(start + index * delta) * 2^exponent`, or of fewer bits if the mask is set. The
    /// parameters are start and delta, signed integers of two words each; a mask, by which only the
    /// product's upper word counts, and its last bit stands for the words below; the exponent; and the
    /// double for the index 0, of two words.
    SEQUENCE_F64 = F64.sequence(1; 8) Widening |a| match a[0] {
        0 => wide(&a[7..]),
        _ => member_of(a),
    };
}

fn member_of(a: &[u64]) -> u64 {
    let (start, delta, far, exponent) = (wide(&a[1..]), wide(&a[3..]), a[5], a[6]);
    let product = a[0].wrapping_mul(delta);
    let upper = product.cast_signed() >> 32 | i64::from(low(product) != 0);
    let far = far | far << 32;
    let product = product & !far | upper.cast_unsigned() & far;
    let sum = start.wrapping_add(product).cast_signed();
    let magnitude = sum.unsigned_abs();
    let lost = if magnitude >> 53 == 0 { 0 } else { 11 };
    let kept = magnitude >> lost | u64::from(magnitude & ((1 << lost) - 1) != 0);
    let sign = u64::from(sum < 0) << 63;
    if kept == 0 {
        return sign;
    }
    // The leading bit adds one to the exponent.
    let top = 63 - kept.leading_zeros();
    let biased = low(exponent).wrapping_add(lost + top + 1022);
    sign | (u64::from(biased) << 52).wrapping_add(kept << (52 - top))
}
