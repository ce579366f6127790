// The parts of softmax, on four f32: x is an element, m the greatest of its row. Where m is infinite or NaN
// nothing has a share. Every result is a pair that is rounded once.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "include/pairs.glsl"
#include "include/exponential.glsl"

vec3 distance_below(const uint x, const uint m) {
    return normalized(plus(pair(x), opposite(pair(m))));
}

// 2^-102: what rounding loses of sums of powers that are not below it is no subnormal number.
const uint LEAST_POWER = 0x0c800000u;

// e^(x - m), or 0 where that is below the least power.
uint power_below(const uint x, const uint m) {
    const uint power = rounded(exponential(distance_below(x, m)));
    const uint kept = power < LEAST_POWER ? 0u : power;
    return magnitude(m) >= INFINITY ? NAN : kept;
}

uvec4 exp_below(const uvec4 x, const uvec4 m) {
    EACH(power_below(x[at], m[at]))
}

// e^(x - m) / sum.
uint share_of(const uint x, const uint m, const uint sum) {
    const uint power = power_below(x, m);
    const uint share = rounded(over(exponential(distance_below(x, m)), pair(sum)));
    return power == 0u || magnitude(m) >= INFINITY ? power : share;
}

uvec4 softmax(const uvec4 x, const uvec4 m, const uvec4 sum) {
    EACH(share_of(x[at], m[at], sum[at]))
}

// ln(sum), at least 1, of which rounding has lost the rest.
uint log_of_both(const uint sum, const uint rest) {
    const vec2 both = exact_sum(uintBitsToFloat(sum), uintBitsToFloat(rest));
    // ln(1 + y) is y, off by less than a quarter of a unit where y is at most 2^-24.
    const uint result =
        both.x == 1.0 ? floatBitsToUint(both.y) : rounded(logarithm(vec3(both, 0.0)));
    return magnitude(sum) > INFINITY ? NAN : result;
}

uvec4 log_sum(const uvec4 sum, const uvec4 rest) {
    EACH(log_of_both(sum[at], rest[at]))
}

// x - m - ln(sum). Where x is m the logarithm may be far below both.
uint log_share_of(const uint x, const uint m, const uint logarithm) {
    const bool is_greatest = x == m || magnitude(x | m) == 0;
    const uint distant = rounded(plus(distance_below(x, m), opposite(pair(logarithm))));
    const uint result = is_greatest ? logarithm ^ SIGN : distant;
    return magnitude(m) >= INFINITY ? NAN : result;
}

uvec4 log_softmax(const uvec4 x, const uvec4 m, const uvec4 logarithm) {
    EACH(log_share_of(x[at], m[at], logarithm[at]))
}
