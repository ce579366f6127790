// Powers on four f32, each the bits of one word, or four integers. Of floats every result is a pair that is
// rounded once: off by less than 1 unit in the last place.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "include/pairs.glsl"
#include "include/exponential.glsl"

// 0 where a number is no integer, 1 where it is an odd one, 2 where it is even or infinite.
int kind_of_integer(const uint x) {
    const int exponent = clamp((magnitude(x) >> 23) - 127, -1, 24);
    const uint significand = (x & 0x007fffffu) | 0x00800000u;
    // Two times the integer, and what is behind the point below.
    const uint twice = exponent < 0 ? 1u : significand << exponent;
    const bool is_integer = exponent >= 0 && (twice & 0x007fffffu) == 0u;
    const bool is_odd = (twice & 0x00800000u) != 0u && exponent < 24;
    return magnitude(x) == 0 || exponent == 24 ? 2 : is_integer ? (is_odd ? 1 : 2) : 0;
}

// x^y as IEEE 754 has it: e^(y ln|x|), with a minus where x has one and y is odd, and without a value where
// x is negative and y no integer.
uint pow_of(const uint x, const uint y) {
    const vec3 power = exponential(times(pair(y), logarithm(pair(uint(magnitude(x))))));
    const int kind = kind_of_integer(y);
    const bool is_0 = magnitude(x) == 0;
    const bool is_special = is_0 || magnitude(x) == INFINITY;
    const uint special = is_0 == (y < SIGN) ? 0u : uint(INFINITY);
    const uint sign = kind == 1 ? x & SIGN : 0u;
    const uint result = (is_special ? special : rounded(power)) | sign;
    const bool has_none = max(magnitude(x), magnitude(y)) > INFINITY
        || (x > SIGN && kind == 0 && !is_special);
    return x == 0x3f800000u || magnitude(y) == 0 ? 0x3f800000u : has_none ? NAN : result;
}

uvec4 pow_f32(const uvec4 a, const uvec4 b) {
    EACH(pow_of(a[at], b[at]))
}

uvec4 constant_pow(const uvec4 a, const uint exponent) {
    return pow_f32(a, uvec4(exponent));
}

// The root of a degree of what is not negative: e^(ln(x) / degree).
uint root_of(const uint x, const uint degree) {
    const vec3 logarithm_of_x = logarithm(pair(uint(magnitude(x))));
    const uint root = rounded(exponential(normalized(over(logarithm_of_x, pair(degree)))));
    const bool is_special = magnitude(x) == 0 || magnitude(x) >= INFINITY || x == 0x3f800000u;
    return is_special ? x : root;
}

uvec4 root(const uvec4 x, const uint degree) {
    EACH(root_of(x[at], degree))
}

// Powers of integers wrap. 32 squares are enough for any exponent.
uvec4 pow_u32(const uvec4 a, const uvec4 exponent) {
    uvec4 result = uvec4(1u);
    uvec4 square = a;
    for (int at = 0; at < 32; ++at) {
        const uvec4 is_factor = uvec4(0u) - ((exponent >> at) & 1u);
        result *= ((square - 1u) & is_factor) + 1u;
        square *= square;
    }
    return result;
}

// Where an exponent is negative: 1 of 1, else 0, to which 1 / a^n is truncated.
uvec4 pow_u32_i32(const uvec4 a, const uvec4 exponent) {
    const uvec4 inverse = uvec4(equal(a, uvec4(1u)));
    return mix(pow_u32(a, exponent), inverse, lessThan(ivec4(exponent), ivec4(0)));
}

// The same with a sign: of -1 the last bit of the exponent tells which.
uvec4 pow_i32(const uvec4 a, const uvec4 exponent) {
    const uvec4 of_minus_1 = 1u - 2u * (exponent & 1u);
    const bvec4 is_inverse = equal(a, uvec4(0xffffffffu));
    const bvec4 is_negative = lessThan(ivec4(exponent), ivec4(0));
    return mix(pow_u32_i32(a, exponent), mix(uvec4(0u), of_minus_1, is_inverse),
        bvec4(uvec4(is_negative) & uvec4(is_inverse)));
}
