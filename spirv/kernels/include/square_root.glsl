// The square root of a pair that is not negative. Mirrored by src/functions/pairs.rs.
vec3 square_root(const vec3 a) {
    const int half_exponent = int(a.z) >> 1;
    const vec2 number = a.xy * ((int(a.z) & 1) == 0 ? 1.0 : 2.0);
    // Newton's method for 1 / root, from an estimate that is wrong by 4 percent; of 0 it is some number.
    float inverse = intBitsToFloat(0x5f375a86 - (floatBitsToInt(number.x) >> 1));
    inverse = inverse * (1.5 - number.x * 0.5 * inverse * inverse);
    inverse = inverse * (1.5 - number.x * 0.5 * inverse * inverse);
    inverse = inverse * (1.5 - number.x * 0.5 * inverse * inverse);
    const float root = number.x * inverse;
    const vec2 square = exact_product(root, root);
    const float rest = ((number.x - square.x) - square.y) + number.y;
    return vec3(ordered_sum(root, rest * inverse * 0.5), float(half_exponent));
}
