// Half precision to single and back, by integers: exact on every device, whatever it does to
// subnormal numbers and in whichever direction it rounds.
#version 450

const uint INFINITY = 0x7f800000u;

// Every half is a single: the exponent's bias grows by 112, and subnormal halves become normal. A NaN
// becomes a quiet one and keeps its other bits.
uvec4 f16_to_f32(const uvec4 bits) {
    const uvec4 magnitude = bits & 0x7fffu;
    const uvec4 finite = (magnitude << 13) + (112u << 23);
    const uvec4 subnormal = floatBitsToUint(vec4(magnitude) * uintBitsToFloat(0x33800000u));
    uvec4 result = mix(finite, subnormal, lessThan(magnitude, uvec4(0x400u)));
    result = mix(result, uvec4(INFINITY), equal(magnitude, uvec4(0x7c00u)));
    const uvec4 nan = (magnitude << 13) | 0x7fc00000u;
    result = mix(result, nan, greaterThan(magnitude, uvec4(0x7c00u)));
    return result | (bits & 0x8000u) << 16;
}

// To the nearest half, to the even one of two; a NaN becomes a quiet one and keeps its upper bits.
uvec4 f32_to_f16(const uvec4 bits) {
    const uvec4 magnitude = bits & 0x7fffffffu;
    // Normal: 13 bits go. Half of their weight, less one where the last bit that stays is 0.
    const uvec4 normal = (magnitude - (112u << 23) + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
    // Subnormal: the significand is shifted until its last bit weighs 2^-24; below 2^-25 nothing stays.
    const uvec4 shift = min(126u - (magnitude >> 23), 31u);
    const uvec4 significand = (magnitude & 0x7fffffu) | 0x800000u;
    const uvec4 quotient = significand >> shift;
    const uvec4 rest = significand - (quotient << shift);
    const uvec4 even = uvec4(1u) << (shift - 1u);
    const uvec4 up = mix(uvec4(0u), uvec4(1u), greaterThan(rest + (quotient & 1u), even));
    uvec4 result = mix(normal, quotient + up, lessThan(magnitude, uvec4(113u << 23)));
    result = min(result, uvec4(0x7c00u));
    // From 65520 on infinity is nearest; subtracting the bias has come around for the smallest only.
    result = mix(result, uvec4(0x7c00u), greaterThanEqual(magnitude, uvec4(0x477ff000u)));
    const uvec4 nan = 0x7e00u | magnitude >> 13 & 0x3ffu;
    result = mix(result, nan, greaterThan(magnitude, uvec4(INFINITY)));
    return result | (bits >> 16 & 0x8000u);
}
