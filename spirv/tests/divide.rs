//! The division of `kernels/include/f32.glsl` is exact whatever the device's own division makes of the
//! estimate, within the 2.5 units in the last place that Vulkan allows.
#![allow(clippy::unwrap_used, reason = "a failure is what a test reports")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "the conversions are those of the shader"
)]

/// As many of the 24 bits of the quotient of two significands as are wanted, rounded, as `rounded_quotient`
/// finds them with a division that is wrong by `units` in the last place. Of a subnormal result there are
/// `lacking` fewer.
fn quotient(n: i32, d: i32, lacking: i32, units: i32) -> i32 {
    let dividend = if n < d { 2 * n } else { n };
    let divisor = d << 2;
    let scale = f32::from_bits(((152 - lacking) << 23).cast_unsigned());
    let right = 1.0 / divisor as f32;
    let inverse = f32::from_bits(right.to_bits().wrapping_add_signed(units));
    let estimate = (dividend as f32 * inverse * scale) as i32;
    let rest = dividend.wrapping_mul(scale as i32).wrapping_sub(estimate.wrapping_mul(divisor));
    assert!(rest.abs() < 1 << 29, "{n} / {d}, off by {units}: {rest}");
    let more = (rest as f32 * inverse) as i32;
    let twice = 2 * (rest - more * divisor);
    let result = estimate + more;
    let half_way = divisor - (result & 1);
    result - ((half_way - twice) >> 31) + ((half_way + twice) >> 31)
}

/// To the nearest, to the even one of two.
fn nearest(n: u64, d: u64) -> u64 {
    let (quotient, twice) = (n / d, 2 * (n % d));
    quotient + u64::from(twice > d || (twice == d && quotient % 2 == 1))
}

#[test]
fn an_estimate_that_is_wrong_as_far_as_vulkan_allows_is_corrected() {
    let mut state = 1_u64;
    let mut random = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as i32 | 1 << 23
    };
    let edges = [1 << 23, (1 << 23) + 1, (1 << 24) - 1, (1 << 24) - 2, 3 << 22, 0x00aa_aaaa];
    let pairs = (0..100_000).map(|_| (random(), random()));
    let pairs: Vec<(i32, i32)> =
        pairs.chain(edges.iter().flat_map(|n| edges.iter().map(|d| (*n, *d)))).collect();
    for units in -3..=3 {
        for lacking in [0, 1, 2, 12, 23, 24, 25] {
            for &(n, d) in &pairs {
                let found = quotient(n, d, lacking, units);
                let dividend = u64::from(n.cast_unsigned()) << (25 - lacking) << u32::from(n < d);
                let expected = nearest(dividend, 4 * u64::from(d.cast_unsigned()));
                let what = format!("{n} / {d}, {lacking} fewer, off by {units}");
                assert_eq!(u64::from(found.cast_unsigned()), expected, "{what}");
            }
        }
    }
}
