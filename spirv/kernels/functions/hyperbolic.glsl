// Hyperbolic functions and their inverses on four f32, each the bits of one word. Every result is a
// pair that is rounded once: off by less than 1 unit in the last place.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "include/pairs.glsl"
#include "include/exponential.glsl"
#include "include/square_root.glsl"

vec3 halved(const vec3 a) {
    return vec3(a.x, a.y, a.z - 1.0);
}

// With d = e^x - 1: (d + d / (d + 1)) / 2.
uint sinh_of(const uint x) {
    const vec3 less_1 = exponential_less_1(pair(uint(magnitude(x))));
    const vec3 sum = plus(less_1, over(less_1, plus(less_1, ONE)));
    const uint result = rounded(halved(sum)) | (x & SIGN);
    return magnitude(x) > INFINITY ? NAN : result;
}

uvec4 sinh_f32(const uvec4 a) {
    EACH(sinh_of(a[at]))
}

// (e^x + e^-x) / 2.
uint cosh_of(const uint x) {
    const vec3 power = exponential(pair(uint(magnitude(x))));
    const uint result = rounded(halved(plus(power, over(ONE, power))));
    return magnitude(x) > INFINITY ? NAN : result;
}

uvec4 cosh_f32(const uvec4 a) {
    EACH(cosh_of(a[at]))
}

// ln(x + sqrt(x^2 + 1)); below 2^-12 x itself, which is off by a tenth of a unit.
uint asinh_of(const uint x) {
    const vec3 number = pair(uint(magnitude(x)));
    const vec3 root = square_root(plus(times(number, number), ONE));
    const uint result = rounded(logarithm(plus(number, root))) | (x & SIGN);
    const bool is_itself = magnitude(x) < 0x39800000 || magnitude(x) == INFINITY;
    return magnitude(x) > INFINITY ? NAN : is_itself ? x : result;
}

uvec4 asinh_f32(const uvec4 a) {
    EACH(asinh_of(a[at]))
}

// ln(x + sqrt((x - 1) (x + 1))).
uint acosh_of(const uint x) {
    const vec3 number = pair(uint(magnitude(x)));
    const vec3 root = square_root(times(plus(number, opposite(ONE)), plus(number, ONE)));
    const uint result = rounded(logarithm(plus(number, root)));
    return x - 0x3f800000u > 0x40000000u ? NAN : x == uint(INFINITY) ? x : result;
}

uvec4 acosh_f32(const uvec4 a) {
    EACH(acosh_of(a[at]))
}

// ln((1 + x) / (1 - x)) / 2; below 2^-12 x itself, which is off by a fifth of a unit.
uint atanh_of(const uint x) {
    const vec3 number = pair(uint(magnitude(x)));
    const vec3 quotient = over(plus(ONE, number), plus(ONE, opposite(number)));
    const uint result = rounded(halved(logarithm(quotient))) | (x & SIGN);
    const uint beyond = magnitude(x) == 0x3f800000 ? uint(INFINITY) | (x & SIGN) : NAN;
    return magnitude(x) >= 0x3f800000 ? beyond : magnitude(x) < 0x39800000 ? x : result;
}

uvec4 atanh_f32(const uvec4 a) {
    EACH(atanh_of(a[at]))
}
