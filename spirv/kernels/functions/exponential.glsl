// The exponential function, the logarithm, and activations that are made of them, on four f32, each the
// bits of one word. Every result is a pair that is rounded once: off by less than 1 unit in the last place.
// Where something is 0 or infinite, it is what the formula above a function gives by IEEE 754.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "include/pairs.glsl"
#include "include/exponential.glsl"

// e^x.
uint exp_of(const uint x) {
    const uint result = rounded(exponential(pair(x)));
    return magnitude(x) > INFINITY ? NAN : result;
}

uvec4 exp_f32(const uvec4 a) {
    EACH(exp_of(a[at]))
}

// ln(x), of negative numbers none.
uint log_of(const uint x) {
    const uint result = rounded(logarithm(pair(uint(magnitude(x)))));
    if (magnitude(x) == 0) {
        return SIGN | uint(INFINITY);
    }
    const bool has_none = magnitude(x) > INFINITY || x > SIGN;
    return has_none ? NAN : x == uint(INFINITY) ? x : result;
}

uvec4 log_f32(const uvec4 a) {
    EACH(log_of(a[at]))
}

// 1 / (1 + e^-x).
vec3 logistic(const vec3 x) {
    return over(ONE, plus(exponential(opposite(x)), ONE));
}

uint sigmoid_of(const uint x) {
    const uint result = rounded(logistic(pair(x)));
    return magnitude(x) > INFINITY ? NAN : result;
}

uvec4 sigmoid(const uvec4 a) {
    EACH(sigmoid_of(a[at]))
}

// x / (1 + e^(-scale x)).
uint swish_of(const uint x, const uint scale) {
    const vec3 number = pair(x);
    const uint result = rounded(times(number, logistic(times(number, pair(scale)))));
    // Minus infinity times 0.
    const bool has_none = magnitude(x) == INFINITY && (x ^ scale) >= SIGN;
    return has_none || is_undefined_product(x, scale) ? NAN : result;
}

uvec4 swish(const uvec4 a, const uint scale) {
    EACH(swish_of(a[at], scale))
}

// (e^2x - 1) / (e^2x + 1).
vec3 hyperbolic_tangent(const vec3 x) {
    const vec3 less_1 = exponential_less_1(vec3(x.x, x.y, x.z + 1.0));
    return over(less_1, plus(less_1, vec3(2.0, 0.0, 0.0)));
}

uint tanh_of(const uint x) {
    const uint result = rounded(hyperbolic_tangent(pair(x)));
    return magnitude(x) > INFINITY ? NAN : result;
}

uvec4 tanh_f32(const uvec4 a) {
    EACH(tanh_of(a[at]))
}

// alpha * tanh(beta x).
uint scaled_tanh_of(const uint x, const uint alpha, const uint beta) {
    const vec3 tangent = hyperbolic_tangent(times(pair(x), pair(beta)));
    const uint result = rounded(times(pair(alpha), tangent));
    // The tangent is 0 where one of these is, and never infinite.
    const uint is_not_0 = uint(min(min(magnitude(x), magnitude(beta)), 1));
    return is_undefined_product(x, beta) || is_undefined_product(alpha, is_not_0) ? NAN : result;
}

uvec4 scaled_tanh(const uvec4 a, const uint alpha, const uint beta) {
    EACH(scaled_tanh_of(a[at], alpha, beta))
}

// Neither negative nor without a value.
bool is_kept(const uint x) {
    return x <= SIGN || magnitude(x) > INFINITY;
}

// x >= 0 ? x : alpha (e^x - 1).
uint elu_of(const uint x, const uint alpha) {
    const uint result = rounded(times(pair(alpha), exponential_less_1(pair(x))));
    return is_kept(x) ? x : magnitude(alpha) > INFINITY ? NAN : result;
}

uvec4 elu(const uvec4 a, const uint alpha) {
    EACH(elu_of(a[at], alpha))
}

// x >= 0 ? x : alpha (e^(x / alpha) - 1).
uint celu_of(const uint x, const uint alpha) {
    const vec3 factor = pair(alpha);
    const uint result = rounded(times(factor, exponential_less_1(over(pair(x), factor))));
    // Infinity times 0.
    const bool has_none = magnitude(alpha) >= INFINITY || alpha == SIGN;
    return is_kept(x) ? x : has_none ? NAN : result;
}

uvec4 celu(const uvec4 a, const uint alpha) {
    EACH(celu_of(a[at], alpha))
}

// gamma * (x > 0 ? x : alpha (e^x - 1)).
uint scaled_elu_of(const uint x, const uint alpha, const uint gamma) {
    const bool is_straight = x - 1u < uint(INFINITY);
    const vec3 number = pair(x);
    const vec3 bent = times(pair(alpha), exponential_less_1(number));
    const vec3 unscaled = is_straight ? number : bent;
    const uint result = rounded(times(pair(gamma), unscaled));
    const uint factor = is_straight ? x : alpha;
    const bool has_none = magnitude(x) > INFINITY || is_undefined_product(gamma, factor)
        || (magnitude(x) == 0 && max(magnitude(alpha), magnitude(gamma)) >= INFINITY);
    return has_none ? NAN : result;
}

uvec4 scaled_elu(const uvec4 a, const uint alpha, const uint gamma) {
    EACH(scaled_elu_of(a[at], alpha, gamma))
}

// ln(1 + e^z), which is ln(1 + e^-|z|), and z more where that is positive.
vec3 soft_maximum(const vec3 z) {
    const vec3 least = z.x < 0.0 ? z : opposite(z);
    const vec3 power = exponential(least);
    // Of small numbers the first two terms are enough, and adding 1 would lose digits.
    const vec3 near = times(power, plus(ONE, vec3(-power.x, -power.y, power.z - 1.0)));
    const vec3 far = logarithm(plus(ONE, power));
    const vec3 above = power.z < -15.0 ? near : far;
    return z.x < 0.0 ? above : plus(z, above);
}

// ln(1 + e^(steepness x)) / steepness.
uint softplus_of(const uint x, const uint steepness) {
    const vec3 factor = pair(steepness);
    const uint result = rounded(over(soft_maximum(times(pair(x), factor)), factor));
    // Infinity divided by infinity.
    const bool has_none = magnitude(steepness) == INFINITY && (x ^ steepness) < SIGN;
    return has_none || is_undefined_product(x, steepness) ? NAN : result;
}

uvec4 softplus(const uvec4 a, const uint steepness) {
    EACH(softplus_of(a[at], steepness))
}

// alpha ln(1 + e^(beta x)).
uint parametric_softplus_of(const uint x, const uint alpha, const uint beta) {
    const vec3 above = soft_maximum(times(pair(x), pair(beta)));
    const uint result = rounded(times(pair(alpha), above));
    // The logarithm is infinite or 0 where one of these is infinite.
    const bool is_beyond = max(magnitude(x), magnitude(beta)) == INFINITY;
    const uint logarithm_of = is_beyond ? ((x ^ beta) < SIGN ? uint(INFINITY) : 0u) : 1u;
    return is_undefined_product(x, beta) || is_undefined_product(alpha, logarithm_of) ? NAN : result;
}

uvec4 parametric_softplus(const uvec4 a, const uint alpha, const uint beta) {
    EACH(parametric_softplus_of(a[at], alpha, beta))
}
