// The results of rows beside the greatest, least, sum and product of integers, on four elements.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "include/f32.glsl"

// A sum in two words: what is rounded to nearest, and what rounding has lost so far.
uvec4 sum_high(const uvec4 a, const uvec4 a_rest, const uvec4 b, const uvec4 b_rest) {
    return floatBitsToUint(uintBitsToFloat(a) + uintBitsToFloat(b));
}

// a + b less its rounded value is exact (Knuth); the rests are small, so that their own rounding is lost.
uvec4 sum_rest(const uvec4 a, const uvec4 a_rest, const uvec4 b, const uvec4 b_rest) {
    const vec4 first = uintBitsToFloat(a);
    const vec4 addend = uintBitsToFloat(b);
    const vec4 sum = first + addend;
    const vec4 second = sum - first;
    const vec4 lost = (first - (sum - second)) + (addend - second);
    return floatBitsToUint(lost + (uintBitsToFloat(a_rest) + uintBitsToFloat(b_rest)));
}

// 2^-100: what rounding loses of a sum or a product that is not below it is no subnormal number.
const int LEAST_ROUNDED = 0x0d800000;

// Where both words count: neither of what is infinite, and not where all there is is small. Where terms
// cancel, what was lost may be more than what is left.
ivec4 count(const uvec4 high, const uvec4 rest) {
    const ivec4 size = ivec4(high & 0x7fffffffu);
    const ivec4 greater = max(size, ivec4(rest & 0x7fffffffu));
    return ~((greater - LEAST_ROUNDED) >> 31) & ((size - INFINITY) >> 31);
}

uvec4 of_both(const uvec4 high, const uvec4 rest) {
    const uvec4 mask = uvec4(count(high, rest));
    const uvec4 both = floatBitsToUint(uintBitsToFloat(high) + uintBitsToFloat(rest & mask));
    return (both & mask) | (high & ~mask);
}

// The number of an element that is the greatest, or else none: of several the least one counts. Zeros are
// equal, and so are NaNs.
uvec4 number_where_equal(const uvec4 value, const uvec4 greatest, const uvec4 number) {
    const ivec4 differs = order(value) ^ order(greatest);
    const ivec4 is_same = ~((differs | -differs) >> 31) | (is_nan(value) & is_nan(greatest));
    return number | uvec4(~is_same);
}

// 2^-80: parts of a product of what is not below it are no subnormal numbers that count.
const int LEAST_FACTOR = 0x17800000;

// The lanes where a factor or the product is below that: such a product has one word.
uvec4 is_small(const uvec4 a, const uvec4 b) {
    const uvec4 product = floatBitsToUint(uintBitsToFloat(a) * uintBitsToFloat(b));
    const uvec4 least = min(min(a & 0x7fffffffu, b & 0x7fffffffu), product & 0x7fffffffu);
    return uvec4((ivec4(least) - LEAST_FACTOR) >> 31);
}

// A product in two words in the same way: what is rounded to nearest, and what rounding has lost so far. Where the product
// has one word, both words of the factors count.
uvec4 product_high(const uvec4 a, const uvec4 a_rest, const uvec4 b, const uvec4 b_rest) {
    const uvec4 small = is_small(a, b);
    const uvec4 first = of_both(a, a_rest) & small | a & ~small;
    const uvec4 factor = of_both(b, b_rest) & small | b & ~small;
    return floatBitsToUint(uintBitsToFloat(first) * uintBitsToFloat(factor));
}

// The upper 12 of the 24 digits.
vec4 upper_digits(const vec4 a) {
    return uintBitsToFloat(floatBitsToUint(a) & 0xfffff000u);
}

// a * b less its rounded value is exact (Dekker).
uvec4 product_rest(const uvec4 a, const uvec4 a_rest, const uvec4 b, const uvec4 b_rest) {
    const vec4 first = uintBitsToFloat(a);
    const vec4 factor = uintBitsToFloat(b);
    const vec4 product = first * factor;
    const vec4 first_high = upper_digits(first);
    const vec4 factor_high = upper_digits(factor);
    const vec4 first_low = first - first_high;
    const vec4 factor_low = factor - factor_high;
    const vec4 lost = ((first_high * factor_high - product) + first_high * factor_low)
        + first_low * factor_high;
    const vec4 rest = first * uintBitsToFloat(b_rest) + uintBitsToFloat(a_rest) * factor;
    const uvec4 result = floatBitsToUint((lost + first_low * factor_low) + rest);
    return result & ~is_small(a, b);
}
