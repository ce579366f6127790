// Where an index leads: how many elements further on, in a dimension of `size` whose elements are `stride`
// apart. An index below 0 counts from the end.
#version 450

// What leads here is neither loaded nor stored.
const uint NOWHERE = 0xffffffffu;

// Indices as their magnitudes, and which of them count from the end: those outside of the dimension lead
// to its nearest element.
uvec4 nearest(const uvec4 magnitude, const bvec4 from_end, const uint size, const uint stride) {
    const uvec4 inside = min(magnitude, mix(uvec4(size - 1u), uvec4(size), from_end));
    return mix(inside, size - inside, from_end) * stride;
}

// The same, but those outside lead nowhere.
uvec4 checked(const uvec4 magnitude, const bvec4 from_end, const uint size, const uint stride) {
    const bvec4 is_inside = lessThanEqual(magnitude, mix(uvec4(size - 1u), uvec4(size), from_end));
    const uvec4 index = mix(magnitude, size - magnitude, from_end);
    return mix(uvec4(NOWHERE), index * stride, is_inside);
}

bvec4 below_zero(const uvec4 index) {
    return lessThan(ivec4(index), ivec4(0));
}

uvec4 magnitude_of(const uvec4 index) {
    return mix(index, ~index + 1u, below_zero(index));
}

uvec4 nearest_u32(const uvec4 index, const uint size, const uint stride) {
    return nearest(index, bvec4(false), size, stride);
}

uvec4 nearest_i32(const uvec4 index, const uint size, const uint stride) {
    return nearest(magnitude_of(index), below_zero(index), size, stride);
}

uvec4 checked_u32(const uvec4 index, const uint size, const uint stride) {
    return checked(index, bvec4(false), size, stride);
}

uvec4 checked_i32(const uvec4 index, const uint size, const uint stride) {
    return checked(magnitude_of(index), below_zero(index), size, stride);
}

// Of 64 bits: the low words of both registers, and the high ones.
uvec4 low_words(const uvec4 first, const uvec4 last) {
    return uvec4(first.xz, last.xz);
}

uvec4 high_words(const uvec4 first, const uvec4 last) {
    return uvec4(first.yw, last.yw);
}

// The high words of magnitudes.
uvec4 high_magnitude_of(const uvec4 low, const uvec4 high) {
    const uvec4 carry = mix(uvec4(0u), uvec4(1u), equal(low, uvec4(0u)));
    return mix(high, ~high + carry, below_zero(high));
}

uvec4 low_magnitude_of(const uvec4 low, const uvec4 high) {
    return mix(low, ~low + 1u, below_zero(high));
}

// The nearest number of 32 bits.
uvec4 narrowed(const uvec4 low, const uvec4 high) {
    return mix(uvec4(0xffffffffu), low, equal(high, uvec4(0u)));
}

uvec4 saturated(const uvec4 first, const uvec4 last) {
    return narrowed(low_words(first, last), high_words(first, last));
}

uvec4 nearest_u64(const uvec4 first, const uvec4 last, const uint size, const uint stride) {
    return nearest_u32(saturated(first, last), size, stride);
}

uvec4 nearest_i64(const uvec4 first, const uvec4 last, const uint size, const uint stride) {
    const uvec4 low = low_words(first, last);
    const uvec4 high = high_words(first, last);
    const uvec4 magnitude = narrowed(low_magnitude_of(low, high), high_magnitude_of(low, high));
    return nearest(magnitude, below_zero(high), size, stride);
}

uvec4 checked_u64(const uvec4 first, const uvec4 last, const uint size, const uint stride) {
    const bvec4 is_far = notEqual(high_words(first, last), uvec4(0u));
    return mix(checked_u32(low_words(first, last), size, stride), uvec4(NOWHERE), is_far);
}

uvec4 checked_i64(const uvec4 first, const uvec4 last, const uint size, const uint stride) {
    const uvec4 low = low_words(first, last);
    const uvec4 high = high_words(first, last);
    const bvec4 is_far = notEqual(high_magnitude_of(low, high), uvec4(0u));
    const uvec4 offset = checked(low_magnitude_of(low, high), below_zero(high), size, stride);
    return mix(offset, uvec4(NOWHERE), is_far);
}

// Where two indices lead together; nowhere where one of them does.
uvec4 joined(const uvec4 a, const uvec4 b) {
    return mix(a + b, uvec4(NOWHERE), equal(max(a, b), uvec4(NOWHERE)));
}

// Where the `index`-th of the first `length` elements is once these are reversed.
uvec4 reversed(const uvec4 index, const uvec4 length, const uint size, const uint stride) {
    const uvec4 end = min(length, uvec4(size));
    return mix(index, end - 1u - index, lessThan(index, end)) * stride;
}

uvec4 same(const uvec4 a) {
    return a;
}
