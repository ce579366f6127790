// Integers of up to 32 bits, and their conversions to single precision and back.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "include/bits.glsl"

uvec4 sign_extend_4(const uvec4 bits) {
    return uvec4(ivec4(bits << 28) >> 28);
}

uvec4 sign_extend_8(const uvec4 bits) {
    return uvec4(ivec4(bits << 24) >> 24);
}

uvec4 sign_extend_16(const uvec4 bits) {
    return uvec4(ivec4(bits << 16) >> 16);
}

uvec4 add(const uvec4 a, const uvec4 b) {
    return a + b;
}

// Truncated; what is divided by 0 is 0, and the least integer divided by -1 is itself.
uvec4 divide_u32(const uvec4 a, const uvec4 b) {
    return mix(a / max(b, uvec4(1u)), uvec4(0u), equal(b, uvec4(0u)));
}

uvec4 magnitude_of(const uvec4 a) {
    return mix(a, ~a + 1u, lessThan(ivec4(a), ivec4(0)));
}

uvec4 divide_i32(const uvec4 a, const uvec4 b) {
    const uvec4 magnitude = divide_u32(magnitude_of(a), magnitude_of(b));
    return mix(magnitude, ~magnitude + 1u, lessThan(ivec4(a ^ b), ivec4(0)));
}

// Several integers in each word: their upper bits are added apart, so that no carry leaves a place.
uvec4 add_8(const uvec4 a, const uvec4 b) {
    return ((a & 0x7f7f7f7fu) + (b & 0x7f7f7f7fu)) ^ ((a ^ b) & 0x80808080u);
}

uvec4 add_16(const uvec4 a, const uvec4 b) {
    return ((a & 0x7fff7fffu) + (b & 0x7fff7fffu)) ^ ((a ^ b) & 0x80008000u);
}

uvec4 splat_8(const uvec4 a) {
    return (a & 0xffu) * 0x01010101u;
}

uvec4 splat_16(const uvec4 a) {
    return (a & 0xffffu) * 0x00010001u;
}

// To the nearest, to the even one of two: both parts are exact, so the sum rounds once.
uvec4 u32_to_f32(const uvec4 a) {
    return floatBitsToUint(vec4(a >> 16) * 65536.0 + vec4(a & 0xffffu));
}

uvec4 i32_to_f32(const uvec4 a) {
    return floatBitsToUint(vec4(ivec4(a) >> 16) * 65536.0 + vec4(a & 0xffffu));
}

// Towards 0. What is below 0 is 0, what is above the range its end, and NaN is 0.
uvec4 f32_to_u32(const uvec4 a) {
    const bvec4 inside = lessThan(a, uvec4(0x4f800000u));
    const uvec4 towards_0 = uvec4(uintBitsToFloat(mix(uvec4(0u), a, inside)));
    const bvec4 above = lessThanEqual(a, uvec4(0x7f800000u));
    return mix(mix(uvec4(0u), uvec4(0xffffffffu), above), towards_0, inside);
}

uvec4 f32_to_i32(const uvec4 a) {
    const uvec4 magnitude = a & 0x7fffffffu;
    const bvec4 negative = notEqual(a >> 31, uvec4(0u));
    const bvec4 inside = lessThan(magnitude, uvec4(0x4f000000u));
    const uvec4 towards_0 = uvec4(ivec4(uintBitsToFloat(mix(uvec4(0u), a, inside))));
    const uvec4 end = mix(uvec4(0x7fffffffu), uvec4(0x80000000u), negative);
    const uvec4 outside = mix(end, uvec4(0u), greaterThan(magnitude, uvec4(0x7f800000u)));
    return mix(outside, towards_0, inside);
}

uvec4 clamp_i4(const uvec4 a) {
    return uvec4(clamp(ivec4(a), ivec4(-8), ivec4(7)));
}

uvec4 clamp_u4(const uvec4 a) {
    return min(a, uvec4(0xfu));
}

uvec4 clamp_i8(const uvec4 a) {
    return uvec4(clamp(ivec4(a), ivec4(-128), ivec4(127)));
}

uvec4 clamp_i16(const uvec4 a) {
    return uvec4(clamp(ivec4(a), ivec4(-32768), ivec4(32767)));
}

uvec4 clamp_u8(const uvec4 a) {
    return min(a, uvec4(0xffu));
}

uvec4 clamp_u16(const uvec4 a) {
    return min(a, uvec4(0xffffu));
}

uvec4 relu_i32(const uvec4 a) {
    return uvec4(max(ivec4(a), ivec4(0)));
}

uvec4 clip_i32(const uvec4 a, const uint least, const uint most) {
    return uvec4(min(max(ivec4(a), ivec4(int(least))), ivec4(int(most))));
}

uvec4 clip_u32(const uvec4 a, const uint least, const uint most) {
    return min(max(a, uvec4(least)), uvec4(most));
}

uvec4 less_than_i32(const uvec4 a, const uvec4 b) {
    return uvec4(lessThan(ivec4(a), ivec4(b)));
}

uvec4 less_than_u32(const uvec4 a, const uvec4 b) {
    return uvec4(lessThan(a, b));
}

uvec4 zero_extend_8(const uvec4 a) {
    return a & 0xffu;
}

uvec4 zero_extend_16(const uvec4 a) {
    return a & 0xffffu;
}

uvec4 subtract(const uvec4 a, const uvec4 b) {
    return a - b;
}

uvec4 multiply(const uvec4 a, const uvec4 b) {
    return a * b;
}

uvec4 difference_square(const uvec4 a, const uvec4 b) {
    return (a - b) * (a - b);
}

uvec4 opposite(const uvec4 a) {
    return ~a + 1u;
}

uvec4 maximum_i32(const uvec4 a, const uvec4 b) {
    return uvec4(max(ivec4(a), ivec4(b)));
}

uvec4 maximum_u32(const uvec4 a, const uvec4 b) {
    return max(a, b);
}

uvec4 minimum_i32(const uvec4 a, const uvec4 b) {
    return uvec4(min(ivec4(a), ivec4(b)));
}

uvec4 minimum_u32(const uvec4 a, const uvec4 b) {
    return min(a, b);
}

uvec4 greater_than_i32(const uvec4 a, const uvec4 b) {
    return less_than_i32(b, a);
}

uvec4 greater_than_u32(const uvec4 a, const uvec4 b) {
    return less_than_u32(b, a);
}

uvec4 at_most_i32(const uvec4 a, const uvec4 b) {
    return uvec4(lessThanEqual(ivec4(a), ivec4(b)));
}

uvec4 at_most_u32(const uvec4 a, const uvec4 b) {
    return uvec4(lessThanEqual(a, b));
}

uvec4 at_least_i32(const uvec4 a, const uvec4 b) {
    return at_most_i32(b, a);
}

uvec4 at_least_u32(const uvec4 a, const uvec4 b) {
    return at_most_u32(b, a);
}

uvec4 equals(const uvec4 a, const uvec4 b) {
    return uvec4(equal(a, b));
}

// 1 where the element is not 0, else 0.
uvec4 truth(const uvec4 a) {
    return min(a, uvec4(1u));
}

uvec4 logical_and(const uvec4 a, const uvec4 b) {
    return truth(a) & truth(b);
}

uvec4 logical_or(const uvec4 a, const uvec4 b) {
    return truth(a | b);
}

uvec4 logical_xor(const uvec4 a, const uvec4 b) {
    return truth(a) ^ truth(b);
}

uvec4 logical_not(const uvec4 a) {
    return truth(a) ^ 1u;
}
uvec4 bit_count(const uvec4 a) {
    return uvec4(bitCount(a));
}

// The first where the condition is not 0, else the second.
uvec4 choose(const uvec4 condition, const uvec4 a, const uvec4 b) {
    return mix(a, b, equal(condition, uvec4(0u)));
}

uvec4 threshold_i32(const uvec4 a, const uint least) {
    return uvec4(max(ivec4(a), ivec4(int(least))));
}

uvec4 threshold_u32(const uvec4 a, const uint least) {
    return max(a, uvec4(least));
}

uvec4 sign_i32(const uvec4 a) {
    return uvec4(clamp(ivec4(a), ivec4(-1), ivec4(1)));
}

uvec4 sign_u32(const uvec4 a) {
    return min(a, uvec4(1u));
}

// What both have, and half of what one has.
uvec4 mean_u32(const uvec4 a, const uvec4 b) {
    return (a & b) + ((a ^ b) >> 1);
}

// Rounded down, and one more where that is below 0 and not exact.
uvec4 mean_i32(const uvec4 a, const uvec4 b) {
    const uvec4 below = (a & b) + uvec4(ivec4(a ^ b) >> 1);
    return below + ((a ^ b) & (below >> 31));
}

// All bits where the shift is less than 32: a longer one leaves nothing.
uvec4 within(const uvec4 shift) {
    return uvec4(-ivec4(lessThan(shift, uvec4(32u))));
}

uvec4 shift_left(const uvec4 a, const uvec4 b) {
    return (a << (b & 31u)) & within(b);
}

uvec4 shift_right(const uvec4 a, const uvec4 b) {
    return (a >> (b & 31u)) & within(b);
}

// What is divided by 0 has the rest 0.
uvec4 modulus_u32(const uvec4 a, const uvec4 b) {
    return a % max(b, uvec4(1u));
}

// With the sign of a.
uvec4 modulus_truncate_i32(const uvec4 a, const uvec4 b) {
    const uvec4 magnitude = modulus_u32(magnitude_of(a), magnitude_of(b));
    return mix(magnitude, ~magnitude + 1u, lessThan(ivec4(a), ivec4(0)));
}

// With the sign of b.
uvec4 modulus_floor_i32(const uvec4 a, const uvec4 b) {
    const uvec4 rest = modulus_truncate_i32(a, b);
    const uvec4 differs = uvec4(ivec4((rest ^ b) & uvec4(-ivec4(notEqual(rest, uvec4(0u))))) >> 31);
    return rest + (b & differs);
}

uvec4 parameterized_relu_i32(const uvec4 a, const uvec4 slope) {
    return mix(a, a * slope, lessThan(ivec4(a), ivec4(0)));
}

// Where a < -threshold, -a - 1 = ~a is at least that: no integer overflows.
uvec4 shrink_i32(const uvec4 a, const uint bias, const uint threshold) {
    const ivec4 limit = ivec4(int(threshold));
    const uvec4 raised = mix(uvec4(0u), a + bias, greaterThanEqual(ivec4(~a), limit));
    return mix(raised, a - bias, greaterThan(ivec4(a), limit));
}

uvec4 shrink_u32(const uvec4 a, const uint bias, const uint threshold) {
    return mix(uvec4(0u), a - bias, greaterThan(a, uvec4(threshold)));
}

uvec4 relu_gradient_i32(const uvec4 a, const uvec4 gradient) {
    return mix(uvec4(0u), gradient, greaterThan(ivec4(a), ivec4(0)));
}

// 0 where a is not above the least or not below the greatest.
uvec4 clip_gradient_u32(const uvec4 a, const uvec4 gradient, const uint least, const uint most) {
    const uvec4 above = mix(uvec4(0u), gradient, greaterThan(a, uvec4(least)));
    return mix(uvec4(0u), above, lessThan(a, uvec4(most)));
}

uvec4 clip_gradient_i32(const uvec4 a, const uvec4 gradient, const uint least, const uint most) {
    return clip_gradient_u32(a ^ 0x80000000u, gradient, least ^ 0x80000000u, most ^ 0x80000000u);
}

// The difference as an integer rounds once where it is made a float: its sign, and a magnitude of 32 bits.
uvec4 scaled(const uvec4 magnitude, const uvec4 sign, const uvec4 scale) {
    const vec4 difference = uintBitsToFloat(u32_to_f32(magnitude) | sign);
    return floatBitsToUint(difference * uintBitsToFloat(scale));
}

uvec4 dequantize_u32(const uvec4 a, const uvec4 scale, const uvec4 zero_point) {
    const uvec4 less = uvec4(-ivec4(lessThan(a, zero_point)));
    const uvec4 difference = ((a - zero_point) ^ less) - less;
    return scaled(difference, less & 0x80000000u, scale);
}

// With the sign flipped, integers have the same differences.
uvec4 dequantize_i32(const uvec4 a, const uvec4 scale, const uvec4 zero_point) {
    return dequantize_u32(a ^ 0x80000000u, scale, zero_point ^ 0x80000000u);
}

// The difference of integers of up to 16 bits is a float exactly.
uvec4 dequantize_small(const uvec4 a, const uvec4 scale, const uvec4 zero_point) {
    return floatBitsToUint(vec4(ivec4(a - zero_point)) * uintBitsToFloat(scale));
}

// start + a * delta.
uvec4 sequence(const uvec4 a, const uint start, const uint delta) {
    return start + a * delta;
}

// The byte with other bits in a half: the low one where the unit is 1, the other one where it is 16.
uvec4 with_half_byte(const uvec4 byte, const uvec4 bits, const uint unit) {
    return (byte & ~(0xfu * unit)) | (bits & 0xfu) * unit;
}
