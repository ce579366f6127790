// Numbers of 64 bits as two words, the low one first. Where INT64 is defined, the hardware's integers of 64 bits
// compute the same.

// The first two or the last two elements of 32 bits.
uvec2 half_of(const uvec4 a, const uint part) {
    return part == 0u ? a.xy : a.zw;
}

#ifdef INT64

uvec2 negate(const uvec2 a) {
    return unpackUint2x32(-packUint2x32(a));
}

// Shifts by less than 64.
uvec2 shift_left(const uvec2 a, const uint by) {
    return unpackUint2x32(packUint2x32(a) << by);
}

uvec2 shift_right(const uvec2 a, const uint by) {
    return unpackUint2x32(packUint2x32(a) >> by);
}

#else

uvec2 negate(const uvec2 a) {
    return uvec2(~a.x + 1u, ~a.y + (a.x == 0u ? 1u : 0u));
}

// Shifts by less than 64. A shift of a word by 32 is undefined, so it is done in two.
uvec2 shift_left(const uvec2 a, const uint by) {
    const uint part = by & 31u;
    const uint carried = a.x >> 1 >> (31u - part);
    return by < 32u ? uvec2(a.x << part, a.y << part | carried) : uvec2(0u, a.x << part);
}

uvec2 shift_right(const uvec2 a, const uint by) {
    const uint part = by & 31u;
    const uint carried = a.y << 1 << (31u - part);
    return by < 32u ? uvec2(a.x >> part | carried, a.y >> part) : uvec2(a.y >> part, 0u);
}

#endif
