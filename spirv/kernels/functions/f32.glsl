// Functions on four f32, each the bits of one word.
#version 450

uvec4 add(const uvec4 a, const uvec4 b) {
    return floatBitsToUint(uintBitsToFloat(a) + uintBitsToFloat(b));
}

uvec4 scale_bias(const uvec4 a, const uint scale, const uint bias) {
    const vec4 scaled = uintBitsToFloat(a) * uintBitsToFloat(scale);
    return floatBitsToUint(scaled + uintBitsToFloat(bias));
}

// How far the leading bit of a subnormal number is from where it is in others; 0 of those.
uint places_below(const uint magnitude) {
    return magnitude < 0x00800000u ? 23u - uint(findMSB(magnitude)) : 0u;
}

// The significand of a number that is neither zero nor beyond the range, with its leading bit at bit 23.
uint significand_of(const uint magnitude) {
    const uint fraction = magnitude & 0x007fffffu;
    return magnitude < 0x00800000u ? fraction << places_below(magnitude) : fraction | 0x00800000u;
}

// Its exponent as it would be stored; those of subnormal numbers are below 1.
int exponent_of(const uint magnitude) {
    return max(int(magnitude >> 23), 1) - int(places_below(magnitude));
}

// The bits of q + r / d, with r < d, times a power of two, for q of 24 bits: to the nearest, to the
// even one of two.
uint rounded_quotient(const uint q, const uint r, const uint d, const int exponent) {
    if (exponent >= 255) {
        return 0x7f800000u;
    }
    if (exponent >= 1) {
        const uint up = 2u * r > d || (2u * r == d && (q & 1u) != 0u) ? 1u : 0u;
        // The leading bit adds one to the exponent, and so does a carry into it.
        return (uint(exponent - 1) << 23) + q + up;
    }
    // Of a subnormal result fewer bits stay; beyond 25 places nothing does.
    const uint places = uint(min(1 - exponent, 25));
    const uint kept = q >> places;
    const uint rest = q & ((1u << places) - 1u);
    const uint middle = 1u << (places - 1u);
    const bool beyond = rest > middle || (rest == middle && (r != 0u || (kept & 1u) != 0u));
    return kept + (beyond ? 1u : 0u);
}

// a / b, rounded once, whatever the device's own division makes of it: that may be wrong by 2.5 units
// (Vulkan), so it is an estimate of the quotient of the significands, which integers correct.
uint quotient(const uint a, const uint b) {
    const uint sign = (a ^ b) & 0x80000000u;
    const uint dividend = a & 0x7fffffffu;
    const uint divisor = b & 0x7fffffffu;
    const uint infinity = 0x7f800000u;
    if (dividend > infinity || divisor > infinity || (dividend | divisor) == 0u
            || (dividend == infinity && divisor == infinity)) {
        return 0x7fc00000u;
    }
    if (dividend == infinity || divisor == 0u) {
        return sign | infinity;
    }
    if (dividend == 0u || divisor == infinity) {
        return sign;
    }
    const uint n = significand_of(dividend);
    const uint d = significand_of(divisor);
    // The quotient has 24 bits when n is moved by so many places.
    const uint places = n < d ? 24u : 23u;
    const float estimate = float(n) / float(d) * float(1u << places);
    // 2.5 units are up to 5 in the last bit, where they lead past 2^24; truncation takes one more. From
    // 8 below, the rest is not negative, and less than 16 times d: the low words of both products do.
    const uint below = uint(estimate) - 8u;
    uint rest = (n << places) - below * d;
    const uint more = uint(float(rest) / float(d));
    uint q = below + more;
    rest -= more * d;
    // That division was off by one at most.
    if (int(rest) < 0) {
        q -= 1u;
        rest += d;
    } else if (rest >= d) {
        q += 1u;
        rest -= d;
    }
    const int exponent = exponent_of(dividend) - exponent_of(divisor) + 127 - int(places - 23u);
    return sign | rounded_quotient(q, rest, d, exponent);
}

uvec4 divide(const uvec4 a, const uvec4 b) {
    return uvec4(quotient(a.x, b.x), quotient(a.y, b.y), quotient(a.z, b.z), quotient(a.w, b.w));
}

bvec4 is_nan(const uvec4 a) {
    return greaterThan(a & 0x7fffffffu, uvec4(0x7f800000u));
}

// Integers with the order of the numbers, of which -0 is below +0. On bits, since a device may take a
// subnormal number for a zero.
ivec4 total_order(const uvec4 a) {
    return ivec4(a ^ (uvec4(ivec4(a) >> 31) & 0x7fffffffu));
}

// The same with one integer for both zeros.
ivec4 order(const uvec4 a) {
    const ivec4 magnitude = ivec4(a & 0x7fffffffu);
    return mix(magnitude, -magnitude, lessThan(ivec4(a), ivec4(0)));
}

// The greater and the lesser number; a NaN where one of them is, of two the second.
uvec4 maximum(const uvec4 a, const uvec4 b) {
    const uvec4 greater = mix(b, a, greaterThan(total_order(a), total_order(b)));
    return mix(mix(greater, a, is_nan(a)), b, is_nan(b));
}

uvec4 minimum(const uvec4 a, const uvec4 b) {
    const uvec4 lesser = mix(b, a, lessThan(total_order(a), total_order(b)));
    return mix(mix(lesser, a, is_nan(a)), b, is_nan(b));
}

uvec4 relu(const uvec4 a) {
    return maximum(a, uvec4(0u));
}

uvec4 clip(const uvec4 a, const uint least, const uint most) {
    return minimum(maximum(a, uvec4(least)), uvec4(most));
}

uvec4 less_than(const uvec4 a, const uvec4 b) {
    const uvec4 less = uvec4(lessThan(order(a), order(b)));
    return mix(mix(less, uvec4(0u), is_nan(a)), uvec4(0u), is_nan(b));
}
