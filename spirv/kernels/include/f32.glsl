// Single precision, on the bits of numbers.

const int INFINITY = 0x7f800000;
const int NAN = 0x7fc00000;

// What is asked of numbers is answered by masks, all bits of which are set or none: branches and selections
// cost more, and on bits nothing depends on what a device makes of subnormal numbers or NaN.

ivec4 is_nan(const uvec4 a) {
    return (INFINITY - ivec4(a & 0x7fffffffu)) >> 31;
}

// `b` where the mask is set.
uvec4 masked(const uvec4 a, const uvec4 b, const ivec4 mask) {
    return (a & uvec4(~mask)) | (b & uvec4(mask));
}

// A number as integers: the significand, with its leading bit at bit 23, and what the stored exponent would
// be if there were no least one. Of zero, and of what is beyond the range, some number.
ivec2 significand_and_exponent(const int magnitude) {
    const int subnormal = (magnitude - 0x00800000) >> 31;
    // The integer 2^149 times a subnormal number is a normal one, and exact.
    const int difference = magnitude ^ floatBitsToInt(float(magnitude));
    const int normal = magnitude ^ (difference & subnormal);
    return ivec2((normal & 0x007fffff) | 0x00800000, (normal >> 23) - (149 & subnormal));
}

// The magnitude of n / d, rounded once: to the nearest, to the even one of two. Least and greatest numbers
// are taken by masks where they can be: a selection costs a CPU driver four instructions.
int rounded_quotient(const ivec2 n, const ivec2 d) {
    // From 1 up to 2 when the dividend is doubled where it is the lesser.
    const int is_less = (n.x - d.x) >> 31;
    const int dividend = n.x + (n.x & is_less);
    const int divisor = d.x << 2;
    // One less than the stored exponent, and what it is below 0.
    const int exponent = n.y - d.y + 126 + is_less;
    const int lacking = exponent & (exponent >> 31);
    // 2^25, as 24 bits of dividend / divisor are wanted; of a subnormal result as many fewer as it lacks.
    const float scale = intBitsToFloat((max(lacking, -25) + 152) << 23);
    const float inverse = 1.0 / float(divisor);
    // The device's division may be wrong by 2.5 units (Vulkan), which count twice where the product is larger,
    // the product by half a unit, truncation by one: 7 in the last bit. So the rest is less than 2^29, and the
    // low words tell all of it.
    const int estimate = int(float(dividend) * inverse * scale);
    const int rest = dividend * int(scale) - estimate * divisor;
    const int more = int(float(rest) * inverse);
    // What is left is less than the divisor, or just beyond, and may be negative.
    const int twice = 2 * (rest - more * divisor);
    const int result = estimate + more;
    const int half_way = divisor - (result & 1);
    const int nearest = result - ((half_way - twice) >> 31) + ((half_way + twice) >> 31);
    // The leading bit adds one to the exponent, and so does a carry into it.
    const int is_beyond = (253 - exponent) >> 31;
    return ((((exponent - lacking) << 23) + nearest) & ~is_beyond) | (INFINITY & is_beyond);
}

// a / b, rounded once, whatever the device's own division makes of it. One at a time, since few registers
// are enough for that.
uint quotient(const uint a, const uint b) {
    const int dividend = int(a & 0x7fffffffu);
    const int divisor = int(b & 0x7fffffffu);
    const int zero_dividend = (dividend - 1) >> 31;
    const int zero_divisor = (divisor - 1) >> 31;
    // Infinity or NaN.
    const int large_dividend = (INFINITY - 1 - dividend) >> 31;
    const int large_divisor = (INFINITY - 1 - divisor) >> 31;
    const int is_zero = zero_dividend | large_divisor;
    const int is_infinite = large_dividend | zero_divisor;
    // 0 / 0 and infinity / infinity have no value, nor has what has none.
    const int undefined =
        (is_zero & is_infinite) | (((INFINITY - dividend) | (INFINITY - divisor)) >> 31);
    const int sign = int((a ^ b) & 0x80000000u);
    const int result =
        rounded_quotient(significand_and_exponent(dividend), significand_and_exponent(divisor));
    return uint((((result & ~(is_zero | is_infinite)) | (INFINITY & is_infinite) | sign) & ~undefined)
        | (NAN & undefined));
}

// The same with one integer for both zeros.
ivec4 order(const uvec4 a) {
    const ivec4 magnitude = ivec4(a & 0x7fffffffu);
    const ivec4 negative = ivec4(a) >> 31;
    return (magnitude ^ negative) - negative;
}

uvec4 less_than(const uvec4 a, const uvec4 b) {
    return uvec4(lessThan(order(a), order(b))) & uvec4(~(is_nan(a) | is_nan(b)));
}

uvec4 at_most(const uvec4 a, const uvec4 b) {
    return uvec4(lessThanEqual(order(a), order(b))) & uvec4(~(is_nan(a) | is_nan(b)));
}

uvec4 scale_bias(const uvec4 a, const uint scale, const uint bias) {
    const vec4 scaled = uintBitsToFloat(a) * uintBitsToFloat(scale);
    return floatBitsToUint(scaled + uintBitsToFloat(bias));
}
