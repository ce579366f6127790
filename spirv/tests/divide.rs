//! The division of `kernels/functions/f32.glsl` is exact whatever the device's own division makes of the
//! estimate, within the 2.5 units in the last place that Vulkan allows.
#![allow(clippy::unwrap_used, reason = "a failure is what a test reports")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "the conversions are those of the shader"
)]

/// The 24 bits of the quotient of two significands and the rest, as `quotient` finds them, with a
/// division that is wrong by `units` in the last place.
fn quotient(n: u32, d: u32, units: i32) -> (u32, u32) {
    let wrong = |it: f32| f32::from_bits(it.to_bits().wrapping_add_signed(units));
    let places = if n < d { 24 } else { 23 };
    let estimate = wrong(n as f32 / d as f32) * (1_u32 << places) as f32;
    let below = estimate as u32 - 8;
    let mut rest = (n << places).wrapping_sub(below.wrapping_mul(d));
    let more = wrong(rest as f32 / d as f32) as u32;
    let mut q = below + more;
    rest = rest.wrapping_sub(more * d);
    if rest.cast_signed() < 0 {
        q -= 1;
        rest = rest.wrapping_add(d);
    } else if rest >= d {
        q += 1;
        rest -= d;
    }
    (q, rest)
}

#[test]
fn an_estimate_that_is_wrong_as_far_as_vulkan_allows_is_corrected() {
    let mut state = 1_u64;
    let mut random = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as u32 | 1 << 23
    };
    let edges = [1 << 23, (1 << 23) + 1, (1 << 24) - 1, (1 << 24) - 2, 3 << 22, 0x00aa_aaaa];
    let pairs = (0..200_000).map(|_| (random(), random()));
    let pairs: Vec<(u32, u32)> =
        pairs.chain(edges.iter().flat_map(|n| edges.iter().map(|d| (*n, *d)))).collect();
    for units in -3..=3 {
        for (n, d) in &pairs {
            let places = if n < d { 24 } else { 23 };
            let (n64, d64) = (u64::from(*n) << places, u64::from(*d));
            let (q, rest) = quotient(*n, *d, units);
            let expected = (n64 / d64, n64 % d64);
            assert_eq!((q.into(), rest.into()), expected, "{n} / {d}, off by {units}");
        }
    }
}
