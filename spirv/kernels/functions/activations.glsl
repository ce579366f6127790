// Activations of four f32, each the bits of one word.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "include/f32.glsl"

// The greater of the number and 0. As integers, those below are at most negative infinity, and NaNs with a
// minus are more.
uvec4 relu(const uvec4 a) {
    return mix(a, uvec4(0), lessThanEqual(ivec4(a), ivec4(0xff800000)));
}

uvec4 parameterized_relu(const uvec4 a, const uvec4 slope) {
    const uvec4 scaled = floatBitsToUint(uintBitsToFloat(a) * uintBitsToFloat(slope));
    return masked(a, scaled, (ivec4(a) >> 31) & ~is_nan(a));
}

uvec4 leaky_relu(const uvec4 a, const uint alpha) {
    return parameterized_relu(a, uvec4(alpha));
}

// All bits where a is above b, and neither is a NaN.
uvec4 above(const uvec4 a, const uvec4 b) {
    return uvec4(-ivec4(less_than(b, a)));
}

uvec4 thresholded_relu(const uvec4 a, const uint alpha) {
    return a & above(a, uvec4(alpha));
}

// Moved down above the threshold, up below its opposite.
uvec4 shrink(const uvec4 a, const uint bias, const uint threshold) {
    const uvec4 up = above(uvec4(threshold ^ 0x80000000u), a);
    const uvec4 down = above(a, uvec4(threshold));
    const vec4 by = uintBitsToFloat(bias ^ (down & 0x80000000u));
    return floatBitsToUint(uintBitsToFloat(a) + by) & (up | down);
}

// max(0, min(alpha * a + beta, 1)).
uvec4 hard_sigmoid(const uvec4 a, const uint alpha, const uint beta) {
    const uvec4 line = scale_bias(a, alpha, beta);
    const ivec4 limited = clamp(ivec4(line), ivec4(0), ivec4(0x3f800000));
    return masked(uvec4(limited), line, is_nan(line));
}

uvec4 hard_swish(const uvec4 a, const uint alpha, const uint beta) {
    return floatBitsToUint(uintBitsToFloat(a) * uintBitsToFloat(hard_sigmoid(a, alpha, beta)));
}

// a / (1 + |a|).
uvec4 softsign(const uvec4 a) {
    const uvec4 b = floatBitsToUint(1.0 + uintBitsToFloat(a & 0x7fffffffu));
    return uvec4(quotient(a.x, b.x), quotient(a.y, b.y), quotient(a.z, b.z), quotient(a.w, b.w));
}

uvec4 relu_gradient(const uvec4 a, const uvec4 gradient) {
    return gradient & above(a, uvec4(0u));
}

// 0 where a is not above the least or not below the greatest.
uvec4 clip_gradient(const uvec4 a, const uvec4 gradient, const uint least, const uint most) {
    return gradient & ~uvec4(-ivec4(at_most(a, uvec4(least)) | at_most(uvec4(most), a)));
}
