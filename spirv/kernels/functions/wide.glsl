// Integers of 64 bits, two in a register: the low word of each before the high one.
//
// A function with `part` takes elements of 32 bits, and returns the first two or the last two of
// them; one of `first` and `last` returns elements of 32 bits.
#version 450
#extension GL_GOOGLE_include_directive : require
#ifdef INT64
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#endif

#include "include/bits.glsl"
#include "include/words64.glsl"

#ifdef INT64

uvec4 add(const uvec4 a, const uvec4 b) {
    return uvec4(unpackUint2x32(packUint2x32(a.xy) + packUint2x32(b.xy)),
        unpackUint2x32(packUint2x32(a.zw) + packUint2x32(b.zw)));
}

// The quotient, truncated, and what is left. Both are 0 of what is divided by 0.
uvec4 divided(const uvec2 a, const uvec2 b) {
    const uint64_t numerator = packUint2x32(a);
    const uint64_t divisor = packUint2x32(b);
    const uint64_t quotient = numerator / max(divisor, uint64_t(1));
    const uint64_t rest = numerator - quotient * divisor;
    return divisor == uint64_t(0) ? uvec4(0u) : uvec4(unpackUint2x32(quotient), unpackUint2x32(rest));
}

uvec4 multiply(const uvec4 a, const uvec4 b) {
    return uvec4(unpackUint2x32(packUint2x32(a.xy) * packUint2x32(b.xy)),
        unpackUint2x32(packUint2x32(a.zw) * packUint2x32(b.zw)));
}

bool less(const uvec2 a, const uvec2 b) {
    return packUint2x32(a) < packUint2x32(b);
}

#else

uvec4 add(const uvec4 a, const uvec4 b) {
    const uvec2 low = a.xz + b.xz;
    const uvec2 carry = mix(uvec2(0u), uvec2(1u), lessThan(low, a.xz));
    const uvec2 high = a.yw + b.yw + carry;
    return uvec4(low.x, high.x, low.y, high.y);
}

// The quotient, truncated, and what is left: bit by bit, 64 iterations. Both are 0 of what is divided by 0.
uvec4 divided(const uvec2 a, const uvec2 b) {
    uvec2 q = uvec2(0u);
    uvec2 rest = uvec2(0u);
    for (uint i = 0u; i < 64u; ++i) {
        const uint word = i < 32u ? a.y : a.x;
        const bool carried = rest.y >> 31 != 0u;
        rest = uvec2(rest.x << 1 | (word >> (31u - (i & 31u)) & 1u), rest.y << 1 | rest.x >> 31);
        const bool fits = carried || rest.y > b.y || (rest.y == b.y && rest.x >= b.x);
        const uint borrow = fits && rest.x < b.x ? 1u : 0u;
        rest -= fits ? uvec2(b.x, b.y + borrow) : uvec2(0u);
        q = uvec2(q.x << 1 | (fits ? 1u : 0u), q.y << 1 | q.x >> 31);
    }
    return (b.x | b.y) == 0u ? uvec4(0u) : uvec4(q, rest);
}

uvec4 multiply(const uvec4 a, const uvec4 b) {
    uvec2 high;
    uvec2 low;
    umulExtended(a.xz, b.xz, high, low);
    high += a.xz * b.yw + a.yw * b.xz;
    return uvec4(low.x, high.x, low.y, high.y);
}

bool less(const uvec2 a, const uvec2 b) {
    return a.y < b.y || (a.y == b.y && a.x < b.x);
}

#endif

uvec4 divide_u64(const uvec4 a, const uvec4 b) {
    return uvec4(divided(a.xy, b.xy).xy, divided(a.zw, b.zw).xy);
}

uvec2 magnitude_of(const uvec2 a) {
    return a.y >> 31 != 0u ? negate(a) : a;
}

uvec2 signed_quotient(const uvec2 a, const uvec2 b) {
    const uvec2 magnitude = divided(magnitude_of(a), magnitude_of(b)).xy;
    return (a.y ^ b.y) >> 31 != 0u ? negate(magnitude) : magnitude;
}

uvec4 divide_i64(const uvec4 a, const uvec4 b) {
    return uvec4(signed_quotient(a.xy, b.xy), signed_quotient(a.zw, b.zw));
}

uvec4 opposite(const uvec4 a) {
    return uvec4(negate(a.xy), negate(a.zw));
}

uvec4 subtract(const uvec4 a, const uvec4 b) {
    return add(a, opposite(b));
}

uvec4 absolute(const uvec4 a) {
    return uvec4(magnitude_of(a.xy), magnitude_of(a.zw));
}

uvec4 less_than_u64(const uvec4 a, const uvec4 b) {
    return uvec4(less(a.xy, b.xy) ? 1u : 0u, 0u, less(a.zw, b.zw) ? 1u : 0u, 0u);
}

// With the sign flipped, numbers with a sign have the order of those without.
const uvec4 SIGNS = uvec4(0u, 0x80000000u, 0u, 0x80000000u);

uvec4 less_than_i64(const uvec4 a, const uvec4 b) {
    return less_than_u64(a ^ SIGNS, b ^ SIGNS);
}

uvec4 greater_than_u64(const uvec4 a, const uvec4 b) {
    return less_than_u64(b, a);
}

uvec4 greater_than_i64(const uvec4 a, const uvec4 b) {
    return less_than_i64(b, a);
}

// 1 where the element is 0, else 0.
uvec4 no(const uvec4 a) {
    return uvec4(a.x ^ 1u, 0u, a.z ^ 1u, 0u);
}

uvec4 at_most_u64(const uvec4 a, const uvec4 b) {
    return no(less_than_u64(b, a));
}

uvec4 at_most_i64(const uvec4 a, const uvec4 b) {
    return no(less_than_i64(b, a));
}

uvec4 at_least_u64(const uvec4 a, const uvec4 b) {
    return no(less_than_u64(a, b));
}

uvec4 at_least_i64(const uvec4 a, const uvec4 b) {
    return no(less_than_i64(a, b));
}

uvec4 equals(const uvec4 a, const uvec4 b) {
    const uvec4 difference = a ^ b;
    return no(uvec4(min(difference.xz | difference.yw, uvec2(1u)), uvec2(0u)).xzyw);
}

uvec4 maximum_u64(const uvec4 a, const uvec4 b) {
    return uvec4(less(a.xy, b.xy) ? b.xy : a.xy, less(a.zw, b.zw) ? b.zw : a.zw);
}

uvec4 maximum_i64(const uvec4 a, const uvec4 b) {
    return maximum_u64(a ^ SIGNS, b ^ SIGNS) ^ SIGNS;
}

uvec4 minimum_u64(const uvec4 a, const uvec4 b) {
    return uvec4(less(a.xy, b.xy) ? a.xy : b.xy, less(a.zw, b.zw) ? a.zw : b.zw);
}

uvec4 minimum_i64(const uvec4 a, const uvec4 b) {
    return minimum_u64(a ^ SIGNS, b ^ SIGNS) ^ SIGNS;
}

uvec2 clipped(const uvec2 a, const uvec2 least, const uvec2 most) {
    const uvec2 raised = less(a, least) ? least : a;
    return less(most, raised) ? most : raised;
}

uvec4 clip_u64(const uvec4 a, const uint least, const uint least_high, const uint most, const uint most_high) {
    const uvec4 ends = uvec4(least, least_high, most, most_high);
    return uvec4(clipped(a.xy, ends.xy, ends.zw), clipped(a.zw, ends.xy, ends.zw));
}

uvec4 clip_i64(const uvec4 a, const uint least, const uint least_high, const uint most, const uint most_high) {
    const uvec4 ends = uvec4(least, least_high, most, most_high) ^ SIGNS;
    const uvec4 flipped = a ^ SIGNS;
    return uvec4(clipped(flipped.xy, ends.xy, ends.zw), clipped(flipped.zw, ends.xy, ends.zw)) ^ SIGNS;
}

uvec4 bit_count(const uvec4 a) {
    return uvec4(bitCount(a.xz) + bitCount(a.yw), uvec2(0u)).xzyw;
}

// The first where the condition is not 0, else the second.
uvec4 choose(const uvec4 condition, const uvec4 a, const uvec4 b) {
    return mix(a, b, equal((condition | condition.yxwz), uvec4(0u)));
}

uvec4 u32_to_u64(const uvec4 a, const uint part) {
    const uvec2 low = half_of(a, part);
    return uvec4(low.x, 0u, low.y, 0u);
}

uvec4 pair(const uvec4 a, const uvec4 b, const uint part) {
    const uvec2 low = half_of(a, part);
    const uvec2 high = half_of(b, part);
    return uvec4(low.x, high.x, low.y, high.y);
}

uvec4 i32_to_i64(const uvec4 a, const uint part) {
    const uvec2 low = half_of(a, part);
    const uvec2 high = uvec2(ivec2(low) >> 31);
    return uvec4(low.x, high.x, low.y, high.y);
}

uvec4 low_words(const uvec4 first, const uvec4 last) {
    return uvec4(first.xz, last.xz);
}

uvec4 high_words(const uvec4 first, const uvec4 last) {
    return uvec4(first.yw, last.yw);
}

// The nearest single, the even one of two.
uint to_f32(const uvec2 magnitude, const uint sign) {
    const uint top = magnitude.y != 0u ? 32u + findMSB(magnitude.y) : findMSB(magnitude.x | 1u);
    const uvec2 aligned = shift_left(magnitude, 63u - top);
    // 24 bits stay, 40 go: 8 of the high word and the low one.
    const uint significand = aligned.y >> 8;
    const uint rest = aligned.y << 24 | (aligned.x >> 8) | (aligned.x & 0xffu);
    const uint up = rest > 0x80000000u || (rest == 0x80000000u && (significand & 1u) != 0u) ? 1u : 0u;
    // The leading bit adds one to the exponent.
    const uint bits = (126u + top << 23) + significand + up;
    return sign | ((magnitude.x | magnitude.y) == 0u ? 0u : bits);
}

uvec4 u64_to_f32(const uvec4 first, const uvec4 last) {
    return uvec4(to_f32(first.xy, 0u), to_f32(first.zw, 0u), to_f32(last.xy, 0u), to_f32(last.zw, 0u));
}

uint signed_to_f32(const uvec2 a) {
    const bool negative = a.y >> 31 != 0u;
    return to_f32(negative ? negate(a) : a, negative ? 0x80000000u : 0u);
}

uvec4 i64_to_f32(const uvec4 first, const uvec4 last) {
    return uvec4(signed_to_f32(first.xy), signed_to_f32(first.zw), signed_to_f32(last.xy),
        signed_to_f32(last.zw));
}

// The integer below a single's magnitude, which is less than 2^64.
uvec2 integer_of(const uint bits) {
    const uint exponent = bits >> 23 & 0xffu;
    const uvec2 significand = uvec2((bits & 0x7fffffu) | 0x800000u, 0u);
    if (exponent < 127u) {
        return uvec2(0u);
    }
    return exponent < 150u ? shift_right(significand, 150u - exponent)
                           : shift_left(significand, min(exponent - 150u, 63u));
}

// Towards 0; what is outside the range is its end, and NaN is 0.
uvec2 unsigned_of_f32(const uint bits) {
    const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
    if (is_nan || bits >> 31 != 0u) {
        return uvec2(0u);
    }
    return bits >= 0x5f800000u ? uvec2(0xffffffffu) : integer_of(bits);
}

uvec2 signed_of_f32(const uint bits) {
    const uint magnitude = bits & 0x7fffffffu;
    const bool negative = bits >> 31 != 0u;
    if (magnitude > 0x7f800000u) {
        return uvec2(0u);
    }
    if (magnitude >= 0x5f000000u) {
        return negative ? uvec2(0u, 0x80000000u) : uvec2(0xffffffffu, 0x7fffffffu);
    }
    const uvec2 integer = integer_of(magnitude);
    return negative ? negate(integer) : integer;
}

uvec4 f32_to_u64(const uvec4 a, const uint part) {
    const uvec2 bits = half_of(a, part);
    return uvec4(unsigned_of_f32(bits.x), unsigned_of_f32(bits.y));
}

uvec4 f32_to_i64(const uvec4 a, const uint part) {
    const uvec2 bits = half_of(a, part);
    return uvec4(signed_of_f32(bits.x), signed_of_f32(bits.y));
}

uvec4 sign_u64(const uvec4 a) {
    return uvec4(min(a.xz | a.yw, uvec2(1u)), uvec2(0u)).xzyw;
}

// All bits where it is negative, else 1 where it is not 0.
uvec4 sign_i64(const uvec4 a) {
    const uvec4 negative = uvec4(ivec4(a.yyww) >> 31);
    return negative | sign_u64(a);
}

// A shift by 64 and more leaves nothing.
bool is_within(const uvec2 shift) {
    return shift.y == 0u && shift.x < 64u;
}

uvec4 bits_left(const uvec4 a, const uvec4 b) {
    return uvec4(is_within(b.xy) ? shift_left(a.xy, b.x) : uvec2(0u),
        is_within(b.zw) ? shift_left(a.zw, b.z) : uvec2(0u));
}

uvec4 bits_right(const uvec4 a, const uvec4 b) {
    return uvec4(is_within(b.xy) ? shift_right(a.xy, b.x) : uvec2(0u),
        is_within(b.zw) ? shift_right(a.zw, b.z) : uvec2(0u));
}

uvec4 modulus_u64(const uvec4 a, const uvec4 b) {
    return uvec4(divided(a.xy, b.xy).zw, divided(a.zw, b.zw).zw);
}

// With the sign of a.
uvec4 modulus_truncate_i64(const uvec4 a, const uvec4 b) {
    const uvec4 rest = modulus_u64(absolute(a), absolute(b));
    return mix(rest, opposite(rest), lessThan(ivec4(a.yyww), ivec4(0)));
}

// With the sign of b.
uvec4 modulus_floor_i64(const uvec4 a, const uvec4 b) {
    const uvec4 rest = modulus_truncate_i64(a, b);
    const bvec4 some = notEqual(rest | rest.yxwz, uvec4(0u));
    const bvec4 other_sign = lessThan(ivec4((rest ^ b).yyww), ivec4(0));
    return add(rest, b & uvec4(ivec4(some) * -ivec4(other_sign)));
}

uvec2 inside(const uvec2 a, const uvec2 gradient, const uvec4 ends) {
    return less(ends.xy, a) && less(a, ends.zw) ? gradient : uvec2(0u);
}

// 0 where a is not above the least or not below the greatest.
uvec4 clip_gradient_u64(const uvec4 a, const uvec4 gradient, const uint least, const uint least_high, const uint most, const uint most_high) {
    const uvec4 ends = uvec4(least, least_high, most, most_high);
    return uvec4(inside(a.xy, gradient.xy, ends), inside(a.zw, gradient.zw, ends));
}

uvec4 clip_gradient_i64(const uvec4 a, const uvec4 gradient, const uint least, const uint least_high, const uint most, const uint most_high) {
    const uvec4 ends = uvec4(least, least_high, most, most_high) ^ SIGNS;
    const uvec4 flipped = a ^ SIGNS;
    return uvec4(inside(flipped.xy, gradient.xy, ends), inside(flipped.zw, gradient.zw, ends));
}

// start + a * delta.
uvec4 sequence(const uvec4 a, const uint start, const uint start_high, const uint delta, const uint delta_high) {
    return add(uvec4(start, start_high, start, start_high), multiply(a, uvec4(delta, delta_high, delta, delta_high)));
}

// The element, or another one where its offset is that of nowhere.
uvec4 unless_nowhere(const uvec4 element, const uvec4 offset, const uint other, const uint other_high) {
    const uvec4 others = uvec4(other, other_high, other, other_high);
    return mix(element, others, equal(offset.xxzz, uvec4(0xffffffffu)));
}
