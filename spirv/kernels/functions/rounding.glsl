// Four f32, each the bits of one word, as integers in the same type.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "include/f32.glsl"

// From here on numbers have no fraction.
const int LARGE = 0x4b000000;

// The magnitude without its fraction; of a number that has none as it stands, 0.
ivec4 whole_of(const ivec4 magnitude) {
    return ivec4(intBitsToFloat(magnitude & ((magnitude - LARGE) >> 31)));
}

// The integer of this magnitude with the sign of a; a itself where that has no fraction.
uvec4 with_whole(const uvec4 a, const ivec4 whole) {
    const ivec4 small = (ivec4(a & 0x7fffffffu) - LARGE) >> 31;
    return masked(a, floatBitsToUint(vec4(whole)) | (a & 0x80000000u), small);
}

// Away from 0 where the mask is set, else towards it.
uvec4 directed(const uvec4 a, const ivec4 away) {
    const ivec4 magnitude = ivec4(a & 0x7fffffffu);
    const ivec4 whole = whole_of(magnitude);
    const ivec4 has_fraction = (floatBitsToInt(vec4(whole)) - magnitude) >> 31;
    return with_whole(a, whole - (has_fraction & away));
}

uvec4 round_down(const uvec4 a) {
    return directed(a, ivec4(a) >> 31);
}

uvec4 round_up(const uvec4 a) {
    return directed(a, ~(ivec4(a) >> 31));
}

// To the nearest: of two to the even one (0), or away from 0 (2); or towards 0 (1).
uvec4 round_by(const uvec4 a, const uint mode) {
    const ivec4 magnitude = ivec4(a & 0x7fffffffu);
    const ivec4 whole = whole_of(magnitude);
    // Exact, since less than 2^23 is whole.
    const ivec4 half_way = floatBitsToInt(vec4(whole) + 0.5);
    const ivec4 at_half = mode == 0u ? whole & 1 : ivec4(1);
    const ivec4 up = ((half_way - at_half - magnitude) >> 31) & (mode == 1u ? 0 : -1);
    return with_whole(a, whole - up);
}

uvec4 divide(const uvec4 a, const uvec4 b) {
    return uvec4(quotient(a.x, b.x), quotient(a.y, b.y), quotient(a.z, b.z), quotient(a.w, b.w));
}

// Sums beyond 2^24 are rounded, and beyond every type that they may become.
uvec4 quantize(const uvec4 a, const uvec4 scale, const uvec4 zero_point) {
    const uvec4 rounded = round_by(divide(a, scale), 0u);
    return floatBitsToUint(uintBitsToFloat(rounded) + uintBitsToFloat(zero_point));
}

// As the device's sums and products take it: where those are zeros of subnormal numbers, this is.
uvec4 as_operand(const uvec4 a) {
    return floatBitsToUint(uintBitsToFloat(a) * 1.0);
}
