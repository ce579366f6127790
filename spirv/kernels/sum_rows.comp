// A skeleton: adds up what a program makes of the elements of every row, each invocation those of one row, as
// include/sums.glsl says.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require

#define KNOWS_ROWS

#include "include/dispatch.glsl"
#include "include/space.glsl"
#include "include/sums.glsl"

void main() {
    uint index;
    if (!linear_index(push.first_group, push.count, index)) {
        return;
    }
    uvec4 low;
    uvec4 high;
    find_row(index, low, high);
    const uint size = varying_bound(inner_size().x, index);
    // The sums of 1, 2, 4, .. blocks that have no right neighbour yet.
    NUMBER waiting[LEVELS];
    uint blocks = 0u;
    uint level = 0u;
    NUMBER sum = NEUTRAL;
    for (uint first = 0u; first < size; first += BLOCK) {
        const uint end = min(first + BLOCK, size);
        NUMBER half_sum = NEUTRAL;
        NUMBER quarter_sum = NEUTRAL;
        for (uint quad = 0u; quad < LANES; quad += QUAD) {
            NUMBERS lanes = NUMBERS(NEUTRAL);
            for (uint x = first + quad; x < end; x += LANES) {
                lanes += elements_of(low, high, x, min(QUAD, end - x));
            }
            const NUMBER of_quad = (lanes.x + lanes.y) + (lanes.z + lanes.w);
            const NUMBER pair = quarter_sum + of_quad;
            const bool is_left = (quad & QUAD) == 0u;
            half_sum = is_left ? half_sum : (quad == QUAD ? pair : half_sum + pair);
            quarter_sum = of_quad;
        }
        sum = half_sum;
        for (level = 0u; (blocks >> level & 1u) != 0u; ++level) {
            sum = waiting[level] + sum;
        }
        waiting[level] = sum;
        ++blocks;
    }
    for (++level; blocks >> level != 0u; ++level) {
        if ((blocks >> level & 1u) != 0u) {
            sum = waiting[level] + sum;
        }
    }
    write_sums(low, high, 0u, 1u, NUMBERS(sum));
}
