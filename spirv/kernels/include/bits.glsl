// On bits, whatever width of elements they are.

uvec4 bit_and(const uvec4 a, const uvec4 b) {
    return a & b;
}

uvec4 bit_or(const uvec4 a, const uvec4 b) {
    return a | b;
}

uvec4 bit_xor(const uvec4 a, const uvec4 b) {
    return a ^ b;
}

uvec4 bit_not(const uvec4 a) {
    return ~a;
}
