//! Twins of `kernels/functions/reductions.glsl`.

use super::{Function, MAXIMUM_F32, MINIMUM_F32, Shape, f32, low};
use crate::kernels::{F32, REDUCTIONS};

functions! {
    /// The higher word of the sum of two numbers of two words each.
    SUM_HIGH_F32 = REDUCTIONS.sum_high(4) Alike |a| (f32(a[0]) + f32(a[2])).to_bits().into();
    /// The lower word of that sum: the rounding error.
    SUM_REST_F32 = REDUCTIONS.sum_rest(4) Alike |a| {
        let ([_, lost], rest) = (super::pairs::exact_sum(f32(a[0]), f32(a[2])), f32(a[1]) + f32(a[3]));
        (lost + rest).to_bits().into()
    };
    /// The rounded sum of both words; the higher word alone if it is not finite or both are below 2^-100.
    SUM_F32 = REDUCTIONS.of_both(2) Alike |a| match count(a[0], a[1]) {
        true => (f32(a[0]) + f32(a[1])).to_bits().into(),
        false => a[0],
    };
    /// The higher word of the product of two numbers of two words each.
    PRODUCT_HIGH_F32 = REDUCTIONS.product_high(4) Alike |a| {
        let [first, factor] = match is_small(a[0], a[2]) {
            true => [[a[0], a[1]], [a[2], a[3]]].map(|it| (SUM_F32.twin)(&it)),
            false => [a[0], a[2]],
        };
        (f32(first) * f32(factor)).to_bits().into()
    };
    /// The lower word of that product: the rounding error; 0 where a factor or the product is below 2^-80.
    PRODUCT_REST_F32 = REDUCTIONS.product_rest(4) Alike |a| {
        let [_, lost] = super::pairs::exact_product(f32(a[0]), f32(a[2]));
        let rest = f32(a[0]) * f32(a[3]) + f32(a[1]) * f32(a[2]);
        if is_small(a[0], a[2]) { 0 } else { (lost + rest).to_bits().into() }
    };
    /// The greater of the greatest numbers of two ranges, each a greatest and a low number.
    RANGE_HIGH_F32 = F32.range_high(4) Alike |a| (MAXIMUM_F32.twin)(&[a[0], a[2]]);
    /// The least of all numbers of two such ranges. A range of one number has the low number 0.
    RANGE_LOW_F32 = F32.range_low(4) Alike |a| {
        let [numbers, low] = [[a[0], a[2]], [a[1], a[3]]].map(|it| (MINIMUM_F32.twin)(&it));
        (MINIMUM_F32.twin)(&[numbers, low])
    };
    /// The third element, an index, if the first equals the second, which is the greatest; else no index.
    /// Zeros of both signs are equal, and so are NaNs.
    NUMBER_WHERE_EQUAL_F32 = REDUCTIONS.number_where_equal(3) Alike |a| {
        let (value, greatest) = (f32(a[0]), f32(a[1]));
        let is_same = value == greatest || (value.is_nan() && greatest.is_nan());
        if is_same { a[2] } else { low(u64::MAX).into() }
    };
}

/// 2^-100.
const LEAST_ROUNDED: u32 = 0x0d80_0000;

/// 2^-80.
const LEAST_FACTOR: u32 = 0x1780_0000;

/// Whether a factor or the product is so small that the product has one word.
fn is_small(first: u64, factor: u64) -> bool {
    let all = [f32(first), f32(factor), f32(first) * f32(factor)];
    all.iter().any(|it| it.abs().to_bits() < LEAST_FACTOR)
}

/// Whether both words are added: the number is finite, and not so small that words may be subnormal.
fn count(high: u64, rest: u64) -> bool {
    let [high, rest] = [high, rest].map(|it| low(it) & 0x7fff_ffff);
    high.max(rest) >= LEAST_ROUNDED && high < 0x7f80_0000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_of_one_word_has_both_words_of_its_factors() {
        let bits = |number: f32| u64::from(number.to_bits());
        // The rounding error of the first factor is three of its last digits.
        let (rest, small) = (3.0 * f32::EPSILON, f32::from_bits(0x1280_0000));
        let [state, tiny] = [[bits(1.0), bits(rest)], [bits(small), 0]];
        for factors in [[state, tiny], [tiny, state]] {
            let found = (PRODUCT_HIGH_F32.twin)(&factors.concat());
            assert_eq!(found, bits((1.0 + rest) * small));
            assert_eq!((PRODUCT_REST_F32.twin)(&factors.concat()), 0);
        }
        // A product that is not small has what rounding lost in its second word.
        let factors = [state, [bits(2.0), 0]].concat();
        let [high, low] = [&PRODUCT_HIGH_F32, &PRODUCT_REST_F32].map(|it| (it.twin)(&factors));
        assert_eq!([high, low], [bits(2.0), bits(2.0 * rest)]);
    }
}
