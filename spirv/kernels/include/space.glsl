// The space of a skeleton: its operands, and where their elements are.
//
// Compiled for each number of outer dimensions, those of rows: OUTER_DIMENSIONS is 0, 1, 2, 4 or 7.

#include "include/operands.glsl"
#include "include/record.glsl"

// Mirrored by src/element_wise/push.rs.
layout(push_constant, std430) uniform PushConstants {
    uint base_words[OPERANDS];  // where the window of each operand starts in its descriptor
    uint first_group;
    uint count;                 // quads of all rows, at least 1
} push;

uint base_word(const uint operand) {
    return push.base_words[operand];
}

#include "include/accessors.glsl"
#include "include/narrow.glsl"

// The element of an operand with which the row at a coordinate begins: of the outer dimensions, outermost first.
uint row_of(const uint operand, const uvec4 low, const uvec4 high) {
    uint element = start_of(operand);
#if OUTER_DIMENSIONS > 0
    const uvec4 strides = low_strides(operand);
    element += low[0] * strides[0];
#endif
#if OUTER_DIMENSIONS > 1
    element += low[1] * strides[1];
#endif
#if OUTER_DIMENSIONS > 2
    element += low[2] * strides[2] + low[3] * strides[3];
#endif
#if OUTER_DIMENSIONS > 4
    const uvec4 products = high * high_strides(operand);
    element += products[0] + products[1] + products[2];
#endif
    return element;
}

// Where the elements of each operand are at `x` of a row, and where they are if those of a row are neighbours. Each operand has
// functions of its own: SwiftShader goes through all elements of a vector to find one by its number.
#define PLACES(K, FIRST)                                                                                               \
    uint element_of_##K(const uvec4 low, const uvec4 high, const uint x) { return FIRST + x * inner_stride(uint(K)); }    \
    uint neighbour_of_##K(const uvec4 low, const uvec4 high, const uint x) { return FIRST + x; }

#ifdef KNOWS_ROWS
// `low` and `high` are where the row begins in each operand, the output's last: what is found for a row once is not
// found again for each of its quads.
PLACES(0, low.x)
PLACES(1, low.y)
PLACES(2, low.z)
PLACES(3, low.w)
PLACES(4, high.x)
PLACES(5, high.y)
PLACES(6, high.z)
PLACES(7, high.w)
#else
// `low` and `high` are the coordinate of the row.
PLACES(0, row_of(0u, low, high))
PLACES(1, row_of(1u, low, high))
PLACES(2, row_of(2u, low, high))
PLACES(3, row_of(3u, low, high))
PLACES(4, row_of(4u, low, high))
PLACES(5, row_of(5u, low, high))
PLACES(6, row_of(6u, low, high))
PLACES(7, row_of(7u, low, high))
#endif

// The number of the block, of a power of two elements, that `x` of a row is in.
uint block_of(const uint x, const uint shift) {
    return x >> shift;
}

// Makes all of these known to the linker.
uint every_place(const uvec4 low, const uvec4 high, const uint x) {
#define EVERY(K) element_of_##K(low, high, x) + neighbour_of_##K(low, high, x)
    return block_of(x, 1u) + EVERY(0) + EVERY(1) + EVERY(2) + EVERY(3) + EVERY(4) + EVERY(5) + EVERY(6) + EVERY(7);
}

// The element of an operand at `x` of a row, where all rows are one.
uint element_of_every_row(const uint operand, const uint x) {
    return start_of(operand) + x * inner_stride(operand);
}

// The numbers of the elements of a quad.
uvec4 numbers(const uint element, const uint stride) {
    return element + stride * uvec4(0u, 1u, 2u, 3u);
}

// What is left of `index` in an outer dimension; `index` is what is for those further out.
uint split(const uint dimension, inout uint index) {
    const uvec4 size = outer_size(dimension);
    const uint quotient = divide(index, size.y, size.z);
    const uint rest = index - quotient * size.x;
    index = quotient;
    return rest;
}

// The coordinate of a row: of the outer dimensions, outermost first.
void outer_coordinate(const uint index, out uvec4 low, out uvec4 high) {
    low = uvec4(0u);
    high = uvec4(0u);
#if OUTER_DIMENSIONS > 0
    uint row = index;
#if OUTER_DIMENSIONS > 4
    high[2] = split(6u, row);
    high[1] = split(5u, row);
    high[0] = split(4u, row);
#endif
#if OUTER_DIMENSIONS > 2
    low[3] = split(3u, row);
    low[2] = split(2u, row);
#endif
#if OUTER_DIMENSIONS > 1
    low[1] = split(1u, row);
#endif
    low[0] = row;
#endif
}

#ifdef KNOWS_ROWS
// Where the row with that number begins in each operand.
void find_row(const uint index, out uvec4 low, out uvec4 high) {
    uvec4 outer;
    uvec4 inner;
    outer_coordinate(index, outer, inner);
    low = uvec4(row_of(0u, outer, inner), row_of(1u, outer, inner), row_of(2u, outer, inner), row_of(3u, outer, inner));
    high = uvec4(row_of(4u, outer, inner), row_of(5u, outer, inner), row_of(6u, outer, inner),
        row_of(OUTPUT, outer, inner));
}
#endif
