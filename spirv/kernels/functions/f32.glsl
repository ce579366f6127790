// Functions on four f32, each the bits of one word.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "include/f32.glsl"

uvec4 add(const uvec4 a, const uvec4 b) {
    return floatBitsToUint(uintBitsToFloat(a) + uintBitsToFloat(b));
}

uvec4 subtract(const uvec4 a, const uvec4 b) {
    return floatBitsToUint(uintBitsToFloat(a) - uintBitsToFloat(b));
}

uvec4 multiply(const uvec4 a, const uvec4 b) {
    return floatBitsToUint(uintBitsToFloat(a) * uintBitsToFloat(b));
}

uvec4 difference_square(const uvec4 a, const uvec4 b) {
    const uvec4 difference = subtract(a, b);
    return multiply(difference, difference);
}

uvec4 absolute(const uvec4 a) {
    return a & 0x7fffffffu;
}

uvec4 opposite(const uvec4 a) {
    return a ^ 0x80000000u;
}

uvec4 divide(const uvec4 a, const uvec4 b) {
    return uvec4(quotient(a.x, b.x), quotient(a.y, b.y), quotient(a.z, b.z), quotient(a.w, b.w));
}

uvec4 divide_by(const uvec4 a, const uint divisor) {
    return divide(a, uvec4(divisor));
}

// Integers with the order of the numbers, of which -0 is below +0; and back.
ivec4 total_order(const ivec4 a) {
    return a ^ ((a >> 31) & 0x7fffffff);
}

// The greater and the lesser number; a NaN where one of them is, of two the second.
uvec4 maximum(const uvec4 a, const uvec4 b) {
    const ivec4 greater = max(total_order(ivec4(a)), total_order(ivec4(b)));
    return masked(masked(uvec4(total_order(greater)), a, is_nan(a)), b, is_nan(b));
}

uvec4 minimum(const uvec4 a, const uvec4 b) {
    const ivec4 lesser = min(total_order(ivec4(a)), total_order(ivec4(b)));
    return masked(masked(uvec4(total_order(lesser)), a, is_nan(a)), b, is_nan(b));
}

// The range of numbers and 0, as its greatest number, and as a number that is not above its least one or is 0: that of
// the numbers of two such ranges.
uvec4 range_high(const uvec4 a, const uvec4 a_low, const uvec4 b, const uvec4 b_low) {
    return maximum(a, b);
}

uvec4 range_low(const uvec4 a, const uvec4 a_low, const uvec4 b, const uvec4 b_low) {
    return minimum(minimum(a, b), minimum(a_low, b_low));
}

// minimum(maximum(a, least), most).
uvec4 clip(const uvec4 a, const uint least, const uint most) {
    const ivec2 bounds = ivec2(least, most);
    ivec2 ordered = bounds ^ ((bounds >> 31) & 0x7fffffff);
    // A bound that is NaN takes the place of the other as well, and so is the result; of two the second.
    const ivec2 nan = (INFINITY - (bounds & 0x7fffffff)) >> 31;
    ordered.x ^= (ordered.x ^ ordered.y) & nan.y;
    ordered.y ^= (ordered.x ^ ordered.y) & nan.x;
    const ivec4 within = min(max(total_order(ivec4(a)), ivec4(ordered.x)), ivec4(ordered.y));
    return masked(uvec4(total_order(within)), a, is_nan(a));
}

// Between a and b. What has no weight does not count, not even an infinity.
uvec4 interpolated(const uvec4 a, const uvec4 b, const uvec4 weight) {
    const vec4 of_b = uintBitsToFloat(weight);
    const vec4 of_a = 1.0 - of_b;
    const uvec4 sum = floatBitsToUint(uintBitsToFloat(a) * of_a + uintBitsToFloat(b) * of_b);
    return mix(sum, a, equal(weight, uvec4(0u)));
}

uvec4 greater_than(const uvec4 a, const uvec4 b) {
    return less_than(b, a);
}

uvec4 at_least(const uvec4 a, const uvec4 b) {
    return at_most(b, a);
}

uvec4 equals(const uvec4 a, const uvec4 b) {
    return uvec4(equal(order(a), order(b))) & uvec4(~(is_nan(a) | is_nan(b)));
}

// Half the sum, rounded once: halves are added where the sum could be too large, which are exact there or too
// small to count.
uvec4 mean(const uvec4 a, const uvec4 b) {
    const uvec4 large = uvec4(-ivec4(greaterThanEqual(max(a & 0x7fffffffu, b & 0x7fffffffu), uvec4(0x7e800000u))));
    const vec4 before = uintBitsToFloat(0x3f800000u - (large & 0x00800000u));
    const vec4 after = uintBitsToFloat(0x3f000000u + (large & 0x00800000u));
    return floatBitsToUint((uintBitsToFloat(a) * before + uintBitsToFloat(b) * before) * after);
}

uvec4 reciprocal(const uvec4 a) {
    const uint one = 0x3f800000u;
    return uvec4(quotient(one, a.x), quotient(one, a.y), quotient(one, a.z), quotient(one, a.w));
}

// The root of a number, rounded once, whatever the device makes of floats on the way.
uint root(const uint a) {
    const int magnitude = int(a & 0x7fffffffu);
    const ivec2 number = significand_and_exponent(magnitude);
    // The number is radicand * 2^(2 n), where 2 n is what is left of an exponent without its odd part.
    const int odd = (number.y & 1) ^ 1;
    const int radicand = number.x << odd;
    // The same from 1 up to 4, and 1 / sqrt of that: a first guess (Lomont, Kadlec), wrong by less than 6.6e-4
    // after one of Newton's steps with other constants, by less than 7e-7 after the next.
    const float x = intBitsToFloat(floatBitsToInt(float(radicand)) - (23 << 23));
    float inverse = intBitsToFloat(0x5f1ffff9 - (floatBitsToInt(x) >> 1));
    inverse *= 0.703952253 * (2.38924456 - x * inverse * inverse);
    inverse *= 1.5 - 0.5 * x * inverse * inverse;
    // 24 bits, wrong by less than 16. So the rest is less than 2^29, and the low words tell all of it.
    const int estimate = int(x * inverse * 8388608.0);
    const int rest = (radicand << 23) - estimate * estimate;
    const int more = int(float(rest) * (inverse * 5.9604644775390625e-8));
    const int left = rest - more * (2 * estimate + more);
    // (n + 1/2)^2 is no integer, so there are no ties: up beyond n, down from -n on.
    const int result = estimate + more;
    const int nearest = result - ((result - left) >> 31) + ((result + left - 1) >> 31);
    // The leading bit adds one to the exponent.
    const int positive = (((number.y - odd + 125) >> 1) << 23) + nearest;
    const int zero = (magnitude - 1) >> 31;
    // Infinity is its own root, a negative number has none.
    const int infinite = (INFINITY - 1 - magnitude) >> 31;
    const int undefined = ((int(a) >> 31) & ~zero) | ((INFINITY - magnitude) >> 31);
    const int kept = zero | infinite;
    return uint((((int(a) & kept) | (positive & ~kept)) & ~undefined) | (NAN & undefined));
}

uvec4 square_root(const uvec4 a) {
    return uvec4(root(a.x), root(a.y), root(a.z), root(a.w));
}

// The bits of count * 2^(exponent - 150), a magnitude that single precision has. Above 0.
int scaled(const float count, const int exponent) {
    const int bits = floatBitsToInt(count);
    const int stored = (bits >> 23) - 150 + exponent;
    // What is used of it is less than 2^23; more need not fit.
    const float product = count * float(1 << min(exponent - 1, 23));
    const int subnormal = int(intBitsToFloat(min(floatBitsToInt(product), 0x4b000000)));
    return stored < 1 ? subnormal : (stored << 23) | (bits & 0x007fffff);
}

// What is left of a after whole multiples of b are taken away, with the sign of a; or, where `down`, with
// that of b, for which there may be one multiple more. 8 bits of the quotient at a time; exponents are at
// most 253 apart, which takes 32 iterations.
uint rest_of(const uint a, const uint b, const bool down) {
    const int dividend = int(a & 0x7fffffffu);
    const int divisor = int(b & 0x7fffffffu);
    // Significands without a leading bit where the number is subnormal, and exponents from 1 on.
    const ivec2 exponents = max(ivec2(dividend, divisor) >> 23, 1);
    const uvec2 significands = uvec2(dividend, divisor) - uvec2((exponents - 1) << 23);
    const uint step = max(significands.y, 1u);
    uint rest = significands.x % step;
    for (int left = exponents.x - exponents.y; left > 0; left -= 8) {
        rest = (rest << min(left, 8)) % step;
    }
    // In units of the divisor's last bit. Where the dividend is less it is the rest, and what is below 2^-64
    // counts as much as 2^-64.
    const bool is_less = exponents.x < exponents.y;
    const float power = intBitsToFloat((127 - clamp(exponents.y - exponents.x, 0, 64)) << 23);
    const float count = float(is_less ? significands.x : rest) * power;
    const bool some = count != 0.0;
    const bool across = down && some && int(a ^ b) < 0;
    // Rounded once: a result that is subnormal has no bits below the last.
    const float remaining = across ? float(significands.y) - count : count;
    int magnitude = is_less && !across ? dividend : scaled(remaining, exponents.y);
    magnitude = some ? across && divisor == INFINITY ? INFINITY : magnitude : 0;
    const bool undefined = dividend >= INFINITY || divisor > INFINITY || divisor == 0;
    return undefined ? uint(NAN) : uint(magnitude) | ((down ? b : a) & 0x80000000u);
}

// Exact.
uvec4 modulus_truncate(const uvec4 a, const uvec4 b) {
    return uvec4(rest_of(a.x, b.x, false), rest_of(a.y, b.y, false), rest_of(a.z, b.z, false),
        rest_of(a.w, b.w, false));
}

// Rounded once.
uvec4 modulus_floor(const uvec4 a, const uvec4 b) {
    return uvec4(rest_of(a.x, b.x, true), rest_of(a.y, b.y, true), rest_of(a.z, b.z, true),
        rest_of(a.w, b.w, true));
}

uvec4 threshold(const uvec4 a, const uint least) {
    return maximum(a, uvec4(least));
}

// -1, 0 or 1; 0 of a NaN as well.
uvec4 sign_of(const uvec4 a) {
    const ivec4 some = -ivec4(greaterThan(a & 0x7fffffffu, uvec4(0u))) & ~is_nan(a);
    return (0x3f800000u | (a & 0x80000000u)) & uvec4(some);
}

uvec4 not_a_number(const uvec4 a) {
    return uvec4(-is_nan(a));
}

// Of either sign (0), of numbers above 0 (1) or below (2).
uvec4 infinite(const uvec4 a, const uint mode) {
    const uvec4 signs = a & (mode == 0u ? 0x7fffffffu : 0xffffffffu);
    return uvec4(equal(signs, uvec4(mode == 2u ? 0xff800000u : 0x7f800000u)));
}

// Integers without a sign in the order of the numbers: zeros are equal, and NaN is above all.
uvec4 sort_key(const uvec4 a) {
    return masked(uvec4(order(a)) ^ 0x80000000u, uvec4(0xffffffffu), is_nan(a));
}
