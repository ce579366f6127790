// Double precision to other types and back, by integers: no device has to know doubles. Two in a
// register: the low word of each before the high one. `part`, `first` and `last` as in wide.glsl.
#version 450
#extension GL_GOOGLE_include_directive : require
#ifdef INT64
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#endif

#include "include/words64.glsl"

// A number that is significand * 2^(exponent - 52), where the significand of a normal one has 53
// bits, as the nearest number of a format with `digits` digits whose least exponent is `least`; of
// two the one with an even significand. The bits of exponent and significand, as one integer: a
// carry into the exponent is right. `exponent` is at most the largest of the format.
uint rounded(const uvec2 significand, const int exponent, const int digits, const int least) {
    const int missing = max(least - exponent, 0);
    const uint shift = uint(min(53 - digits + missing, 60));
    const uvec2 kept = shift_right(significand, shift);
    const uvec2 rest = shift_left(significand, 64u - shift);
    const bool above = rest.y > 0x80000000u || (rest.y == 0x80000000u && rest.x != 0u);
    const bool tie = rest.y == 0x80000000u && rest.x == 0u;
    const uint up = above || (tie && (kept.x & 1u) != 0u) ? 1u : 0u;
    // The leading bit of a normal one adds one to the exponent.
    const uint biased = missing > 0 ? 0u : uint(exponent - least);
    return (biased << uint(digits - 1)) + kept.x + up;
}

uvec2 significand_of(const uvec2 a) {
    const uint leading = (a.y & 0x7ff00000u) != 0u ? 0x100000u : 0u;
    return uvec2(a.x, (a.y & 0xfffffu) | leading);
}

// 1 for subnormal ones, which have no leading bit.
int exponent_of(const uvec2 a) {
    return max(int(a.y >> 20 & 0x7ffu), 1) - 1023;
}

bool is_nan(const uvec2 a) {
    const uint high = a.y & 0x7fffffffu;
    return high > 0x7ff00000u || (high == 0x7ff00000u && a.x != 0u);
}

uint single_of(const uvec2 a) {
    const uint sign = a.y & 0x80000000u;
    if (is_nan(a)) {
        return sign | 0x7fc00000u | (a.y & 0x7ffffu) << 3 | a.x >> 29;
    }
    const int exponent = exponent_of(a);
    if (exponent > 127) {
        return sign | 0x7f800000u;
    }
    return sign | rounded(significand_of(a), exponent, 24, -126);
}

uint half_bits_of(const uvec2 a) {
    const uint sign = a.y >> 16 & 0x8000u;
    if (is_nan(a)) {
        return sign | 0x7e00u | (a.y >> 10 & 0x1ffu);
    }
    const int exponent = exponent_of(a);
    if (exponent > 15) {
        return sign | 0x7c00u;
    }
    return sign | rounded(significand_of(a), exponent, 11, -14);
}

uvec4 f64_to_f32(const uvec4 first, const uvec4 last) {
    return uvec4(single_of(first.xy), single_of(first.zw), single_of(last.xy), single_of(last.zw));
}

// At once: by way of single precision it would round twice.
uvec4 f64_to_f16(const uvec4 first, const uvec4 last) {
    return uvec4(half_bits_of(first.xy), half_bits_of(first.zw), half_bits_of(last.xy),
        half_bits_of(last.zw));
}

// The double of significand * 2^exponent: exact where the significand has at most 53 bits, else
// the nearest, the even one of two.
uvec2 double_of(const uvec2 significand, const int exponent, const uint sign) {
    if ((significand.x | significand.y) == 0u) {
        return uvec2(0u, sign);
    }
    const uint top = significand.y != 0u ? 32u + findMSB(significand.y) : findMSB(significand.x | 1u);
    const uvec2 aligned = shift_left(significand, 63u - top);
    uvec2 kept = shift_right(aligned, 11u);
    const uint rest = aligned.x & 0x7ffu;
    const uint up = rest > 0x400u || (rest == 0x400u && (kept.x & 1u) != 0u) ? 1u : 0u;
    kept.x += up;
    kept.y += up != 0u && kept.x == 0u ? 1u : 0u;
    // The leading bit adds one to the exponent.
    return uvec2(kept.x, sign | (uint(exponent + int(top) + 1022) << 20) + kept.y);
}

uvec2 of_single(const uint bits) {
    const uint sign = bits & 0x80000000u;
    const uint fraction = bits & 0x7fffffu;
    const uint exponent = bits >> 23 & 0xffu;
    if (exponent == 0xffu) {
        const uint quiet = fraction != 0u ? 0x80000u : 0u;
        return uvec2(fraction << 29, sign | 0x7ff00000u | quiet | fraction >> 3);
    }
    const uint leading = exponent != 0u ? 0x800000u : 0u;
    return double_of(uvec2(fraction | leading, 0u), max(int(exponent), 1) - 150, sign);
}

uvec4 f32_to_f64(const uvec4 a, const uint part) {
    const uvec2 bits = half_of(a, part);
    return uvec4(of_single(bits.x), of_single(bits.y));
}

uvec4 u32_to_f64(const uvec4 a, const uint part) {
    const uvec2 low = half_of(a, part);
    return uvec4(double_of(uvec2(low.x, 0u), 0, 0u), double_of(uvec2(low.y, 0u), 0, 0u));
}

uvec2 of_signed(const uvec2 a) {
    const uint sign = a.y & 0x80000000u;
    return double_of(sign != 0u ? negate(a) : a, 0, sign);
}

uvec4 i32_to_f64(const uvec4 a, const uint part) {
    const uvec2 low = half_of(a, part);
    const uvec2 high = uvec2(ivec2(low) >> 31);
    return uvec4(of_signed(uvec2(low.x, high.x)), of_signed(uvec2(low.y, high.y)));
}

uvec4 u64_to_f64(const uvec4 a) {
    return uvec4(double_of(a.xy, 0, 0u), double_of(a.zw, 0, 0u));
}

uvec4 i64_to_f64(const uvec4 a) {
    return uvec4(of_signed(a.xy), of_signed(a.zw));
}

// The integer below a double's magnitude, which is less than 2^64.
uvec2 integer_of(const uvec2 a) {
    const int exponent = exponent_of(a);
    if (exponent < 0) {
        return uvec2(0u);
    }
    const uvec2 significand = significand_of(a);
    return exponent < 52 ? shift_right(significand, uint(52 - exponent))
                         : shift_left(significand, uint(min(exponent - 52, 63)));
}

// Towards 0; what is outside the range is its end, and NaN is 0.
uvec2 unsigned_of(const uvec2 a, const int bits) {
    if (is_nan(a) || a.y >> 31 != 0u) {
        return uvec2(0u);
    }
    return exponent_of(a) >= bits ? uvec2(0xffffffffu) : integer_of(a);
}

uvec2 signed_of(const uvec2 a, const int bits) {
    if (is_nan(a)) {
        return uvec2(0u);
    }
    const bool negative = a.y >> 31 != 0u;
    if (exponent_of(a) >= bits - 1) {
        const uvec2 least = shift_left(uvec2(0xffffffffu), uint(bits - 1));
        return negative ? least : ~least;
    }
    const uvec2 integer = integer_of(a);
    return negative ? negate(integer) : integer;
}

uvec4 f64_to_u64(const uvec4 a) {
    return uvec4(unsigned_of(a.xy, 64), unsigned_of(a.zw, 64));
}

uvec4 f64_to_i64(const uvec4 a) {
    return uvec4(signed_of(a.xy, 64), signed_of(a.zw, 64));
}

uvec4 f64_to_u32(const uvec4 first, const uvec4 last) {
    return uvec4(unsigned_of(first.xy, 32).x, unsigned_of(first.zw, 32).x,
        unsigned_of(last.xy, 32).x, unsigned_of(last.zw, 32).x);
}

uvec4 f64_to_i32(const uvec4 first, const uvec4 last) {
    return uvec4(signed_of(first.xy, 32).x, signed_of(first.zw, 32).x, signed_of(last.xy, 32).x,
        signed_of(last.zw, 32).x);
}

// The double of (start + index * delta) * 2^exponent, or one that rounds to fewer digits as that does: bits
// below its last one set that. All modulo 2^64, with signs. Where `far` is set the product counts as its upper
// word alone, with a last bit that tells whether there is more.
uvec2 member_of(const uint index, const uvec2 start, const uvec2 delta, const uint far, const int exponent) {
    uvec2 product;
    umulExtended(index, delta.x, product.y, product.x);
    product.y += index * delta.y;
    const uvec2 upper = uvec2(product.y | min(product.x, 1u), uint(int(product.y) >> 31));
    product = (product & ~far) | (upper & far);
    const uint low = product.x + start.x;
    const uvec2 sum = uvec2(low, product.y + start.y + (low < start.x ? 1u : 0u));
    const uint sign = sum.y & 0x80000000u;
    const uvec2 magnitude = sign != 0u ? negate(sum) : sum;
    const uint lost = magnitude.y >> 21 != 0u ? 11u : 0u;
    const uint rest = min(magnitude.x & (1u << lost) - 1u, 1u);
    const uvec2 kept = shift_right(magnitude, lost) | uvec2(rest, 0u);
    return double_of(kept, exponent + int(lost), sign);
}

// The member of a sequence with each index: `first` has the index 0.
uvec4 sequence(const uvec4 a, const uint part, const uint start, const uint start_high, const uint delta, const uint delta_high, const uint far, const uint exponent, const uint first, const uint first_high) {
    const uvec2 index = half_of(a, part);
    const uvec4 ends = uvec4(start, start_high, delta, delta_high);
    const uvec2 given = uvec2(first, first_high);
    return uvec4(index.x == 0u ? given : member_of(index.x, ends.xy, ends.zw, far, int(exponent)),
        index.y == 0u ? given : member_of(index.y, ends.xy, ends.zw, far, int(exponent)));
}
