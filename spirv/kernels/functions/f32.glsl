// Functions on four f32, each the bits of one word.
#version 450

uvec4 add(const uvec4 a, const uvec4 b) {
    return floatBitsToUint(uintBitsToFloat(a) + uintBitsToFloat(b));
}
