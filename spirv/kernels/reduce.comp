// A skeleton: makes one element of every row of an iteration space, as include/rows.glsl says.
//
// With GRIDS a row is a grid: the last outer dimension goes through its rows, and how many columns and rows
// there are is read for each. Each invocation has a grid, quad after quad.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require

#ifdef GROUP
#define LOCAL_SIZE_LITERAL 256
#endif

#ifndef GRIDS
#define KNOWS_ROWS
#endif

#include "include/dispatch.glsl"
#include "include/space.glsl"
#include "include/rows.glsl"

#ifdef GRIDS
// Its columns and rows.
void linked_size(
    const uvec4 low, const uvec4 high, const uint x, const uint n, inout uvec4 size) {
    const uint at = every_place(low, high, x);
    const uvec4 one = uvec4(read1_0(at) + read1_1(at) + read1_2(at) + read1_3(at) + read1_4(at)
        + read1_5(at) + read1_6(at));
    hold(size, one, n);
}
#endif

#include "include/result.glsl"

#if defined(GRIDS)

void main() {
    uint index;
    if (!linear_index(push.first_group, push.count, index)) {
        return;
    }
    uvec4 low;
    uvec4 high;
    outer_coordinate(index, low, high);
    uvec4 size = uvec4(0u);
    linked_size(low, high, 0u, QUAD, size);
    uvec4 a;
    uvec4 b;
    linked_start(a, b);
    for (uint y = 0u; y < size.y; ++y) {
        high[2] = y;
        for (uint x = 0u; x < size.x; x += QUAD) {
            linked_quad(low, high, x, min(QUAD, size.x - x), a, b);
        }
    }
    high[2] = 0u;
    linked_lanes(a, b);
    linked_row(low, high, 0u, 1u, a, b);
}

#else

void main() {
    const Row row = row_of_invocation();
#ifndef GROUP
    if (!row.is_there) {
        return;
    }
#endif
    uvec4 a;
    uvec4 b;
    reduce_row(row, a, b);
    if (row.is_there && row.place == 0u) {
        linked_row(row.low, row.high, 0u, 1u, a, b);
    }
}

#endif
