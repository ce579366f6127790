// Functions on four f32, each the bits of one word.
#version 450

uvec4 add(const uvec4 a, const uvec4 b) {
    return floatBitsToUint(uintBitsToFloat(a) + uintBitsToFloat(b));
}

uvec4 scale_bias(const uvec4 a, const uint scale, const uint bias) {
    const vec4 scaled = uintBitsToFloat(a) * uintBitsToFloat(scale);
    return floatBitsToUint(scaled + uintBitsToFloat(bias));
}
