// A skeleton: applies a program to every element of an iteration space. Each invocation has a quad,
// four elements of a row, or fewer at a row's end.
//
// Compiled for each number of outer dimensions, those of rows: OUTER_DIMENSIONS is 0, 1, 2, 4 or 7.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "include/dispatch.glsl"
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

// The element of an operand at a coordinate: of the outer dimensions, outermost first, and in the row.
uint element_of(const uint operand, const uvec4 low, const uvec4 high, const uint x) {
    uint element = start_of(operand) + x * inner_stride(operand);
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

// What is done with a quad; `n` of its elements are in the row. The linker replaces the body by calls
// of functions that it links and of those that are named here.
void linked_quad(const uvec4 low, const uvec4 high, const uint x, const uint n) {
    const uint at = element_of(OUTPUT, low, high, x) * inner_stride(OUTPUT) + parameter(0u);
    const uint one = read1_0(at) + read1_1(at) + read1_2(at) + read1_3(at) + read1_4(at)
        + read1_5(at) + read1_6(at);
    const uvec2 two = read2_0(at) + read2_1(at) + read2_2(at) + read2_3(at) + read2_4(at)
        + read2_5(at) + read2_6(at);
    const uvec4 four = read4_0(at) + read4_1(at) + read4_2(at) + read4_3(at) + read4_4(at)
        + read4_5(at) + read4_6(at);
    write1(at, one);
    write2(at, two);
    write4(at, four);
    merge1(at, one, n);
}

// What is left of `index` in an outer dimension; `index` is what is for those further out.
uint split(const uint dimension, inout uint index) {
    const uvec4 size = outer_size(dimension);
    const uint quotient = divide(index, size.y, size.z);
    const uint rest = index - quotient * size.x;
    index = quotient;
    return rest;
}

void main() {
    uint index;
    if (!linear_index(push.first_group, push.count, index)) {
        return;
    }
    uvec4 low = uvec4(0u);
    uvec4 high = uvec4(0u);
    const uvec4 inner = inner_size();
#if OUTER_DIMENSIONS == 0
    const uint x = index * QUAD;
#else
    uint row = divide(index, inner.z, inner.w);
    const uint x = (index - row * inner.y) * QUAD;
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
    linked_quad(low, high, x, min(QUAD, inner.x - x));
}
