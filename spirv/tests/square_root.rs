//! The square root of `kernels/functions/f32.glsl` is rounded once for every significand.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "the conversions are those of the shader"
)]

/// 24 bits of the root of a radicand from 2^23 up to 2^25, as `root` finds them.
fn root(radicand: i32) -> i32 {
    let x = f32::from_bits((radicand as f32).to_bits() - (23 << 23));
    let mut inverse = f32::from_bits(0x5f1f_fff9 - (x.to_bits() >> 1));
    inverse *= 0.703_952_25 * (2.389_244_6 - x * inverse * inverse);
    inverse *= 1.5 - 0.5 * x * inverse * inverse;
    let estimate = (x * inverse * 8_388_608.0) as i32;
    let rest = (radicand << 23).wrapping_sub(estimate.wrapping_mul(estimate));
    assert!(rest.abs() < 1 << 29, "{radicand}: {rest}");
    let more = (rest as f32 * (inverse * 2.0_f32.powi(-24))) as i32;
    let left = rest - more * (2 * estimate + more);
    let result = estimate + more;
    result - ((result - left) >> 31) + ((result + left - 1) >> 31)
}

#[test]
fn every_root_is_the_nearest() {
    let odd = (1 << 23)..(1 << 24);
    let even = odd.clone().map(|it| 2 * it);
    for radicand in odd.chain(even) {
        let (found, square) = (i64::from(root(radicand)), i64::from(radicand) << 23);
        // (n + 1/2)^2 = n^2 + n + 1/4.
        let is_nearest = found * found - found < square && square <= found * found + found;
        assert!(is_nearest, "{radicand}: {found}");
    }
}
