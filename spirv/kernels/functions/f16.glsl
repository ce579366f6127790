// Half precision to single and back, rounded to nearest.
//
// Without FLOAT16 by integers, on every device, but for the rounding to subnormal halves, which is that of an
// addition of singles. With FLOAT16 by floats of 16 bits, which the kernel says are rounded to nearest; with
// SUBNORMALS besides, it says that they keep subnormal numbers.
#version 450
#ifdef FLOAT16
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#endif

const uint INFINITY = 0x7f800000u;
// The least normal half, and it as a single.
const uint NORMAL_HALF = 0x400u;
const uint NORMAL = 113u << 23;

// A subnormal half is its bits times 2^-24.
uvec4 subnormal_to_f32(const uvec4 magnitude) {
    return floatBitsToUint(vec4(magnitude) * uintBitsToFloat(0x33800000u));
}

// The last bit of singles from a half to one weighs 2^-24, as that of subnormal halves: adding a half rounds.
uvec4 f32_to_subnormal(const uvec4 magnitude) {
    return floatBitsToUint(uintBitsToFloat(magnitude) + 0.5) - floatBitsToUint(0.5);
}

#ifdef FLOAT16

float single(const uint bits) {
    return float(unpackFloat2x16(bits).x);
}

uint half_bits(const float value) {
    return packFloat2x16(f16vec2(float16_t(value), float16_t(0.0)));
}

uvec4 f16_to_f32(const uvec4 bits) {
    const uvec4 result = floatBitsToUint(vec4(single(bits.x), single(bits.y), single(bits.z), single(bits.w)));
#ifdef SUBNORMALS
    return result;
#else
    const uvec4 magnitude = bits & 0x7fffu;
    const uvec4 subnormal = subnormal_to_f32(magnitude) | (bits & 0x8000u) << 16;
    return mix(result, subnormal, lessThan(magnitude, uvec4(NORMAL_HALF)));
#endif
}

uvec4 f32_to_f16(const uvec4 bits) {
    const vec4 value = uintBitsToFloat(bits);
    const uvec4 result = uvec4(half_bits(value.x), half_bits(value.y), half_bits(value.z), half_bits(value.w));
#ifdef SUBNORMALS
    return result;
#else
    const uvec4 magnitude = bits & 0x7fffffffu;
    const uvec4 subnormal = f32_to_subnormal(magnitude) | (bits >> 16 & 0x8000u);
    return mix(result, subnormal, lessThan(magnitude, uvec4(NORMAL)));
#endif
}

#else

// Every half is a single: the exponent's bias grows by 112, and subnormal halves become normal. A NaN
// becomes a quiet one and keeps its other bits.
uvec4 f16_to_f32(const uvec4 bits) {
    const uvec4 magnitude = bits & 0x7fffu;
    const uvec4 finite = (magnitude << 13) + (112u << 23);
    uvec4 result = mix(finite, subnormal_to_f32(magnitude), lessThan(magnitude, uvec4(NORMAL_HALF)));
    result = mix(result, uvec4(INFINITY), equal(magnitude, uvec4(0x7c00u)));
    const uvec4 nan = (magnitude << 13) | 0x7fc00000u;
    result = mix(result, nan, greaterThan(magnitude, uvec4(0x7c00u)));
    return result | (bits & 0x8000u) << 16;
}

// To the nearest half, to the even one of two; a NaN becomes a quiet one and keeps its upper bits.
uvec4 f32_to_f16(const uvec4 bits) {
    const uvec4 magnitude = bits & 0x7fffffffu;
    // 13 bits go. Half of their weight, less one where the last bit that stays is 0.
    const uvec4 normal = (magnitude - (112u << 23) + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
    uvec4 result = mix(normal, f32_to_subnormal(magnitude), lessThan(magnitude, uvec4(NORMAL)));
    // Infinity is nearest from 65520 on, and what comes from there is not less.
    result = min(result, uvec4(0x7c00u));
    const uvec4 nan = 0x7e00u | magnitude >> 13 & 0x3ffu;
    result = mix(result, nan, greaterThan(magnitude, uvec4(INFINITY)));
    return result | (bits >> 16 & 0x8000u);
}

#endif
