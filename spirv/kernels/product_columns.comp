// A skeleton: adds up the products of a row, the first input, with columns, each invocation those of two quads of neighbouring
// columns, which are quads of the second input, as include/sums.glsl says. Products are not linked: SwiftShader would take
// twice as long.
//
// The last outer dimension goes from column to column. Its size in the record is 1; the fourth word beside it is the
// number of columns.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require

#define KNOWS_ROWS

#include "include/dispatch.glsl"
#include "include/space.glsl"

#include "include/sums.glsl"

// Two quads of columns are LOW and HIGH with the same number: variables, which SwiftShader keeps in registers.
#define DECLARE(I) NUMBERS low##I = NUMBERS(NEUTRAL); NUMBERS high##I = NUMBERS(NEUTRAL);
// Adds the products at one depth, which is `at` elements from the first one in each input.
#define ADD(I)                                                                 \
    {                                                                          \
        const NUMBER factor = FROM_BITS(read1_0(first_of_row + at.x));         \
        low##I += factor * FROM_BITS(read4_1(first_columns + at.y >> 2));      \
        high##I += factor * FROM_BITS(read4_1(next_columns + at.y >> 2));      \
    }

void main() {
    uint index;
    if (!linear_index(push.first_group, push.count, index)) {
        return;
    }
    const uint all = outer_size(6u).w;
    const uint of_a_row = (all + 2u * QUAD - 1u) / (2u * QUAD);
    const uint row = index / of_a_row;
    const uint column = 2u * QUAD * (index - row * of_a_row);
    // Where an invocation has no second quad it has the first one twice.
    const bool has_high = all - column > QUAD;
    const uint next_column = has_high ? column + QUAD : column;
    uvec4 row_low;
    uvec4 places;
    find_row(row, row_low, places);
    const uint first_of_row = row_low.x;
    const uint first_columns = row_low.y + column;
    const uint next_columns = row_low.y + next_column;
    const uint size = varying_bound(inner_size().x, index);
    const uvec2 step = uvec2(inner_stride(0u), inner_stride(1u));
    const uvec2 next_lanes = (LANES - 3u) * step;
    // The sums of 1, 2, 4, .. blocks that have no right neighbour yet.
    NUMBERS waiting_low[LEVELS];
    NUMBERS waiting_high[LEVELS];
    uint blocks = 0u;
    uint level = 0u;
    DECLARE(_sum)
    for (uint first = 0u; first < size; first += BLOCK) {
        const uint end = min(first + BLOCK, size);
        DECLARE(_half)
        DECLARE(_quarter)
        for (uint quad = 0u; quad < LANES; quad += QUAD) {
            DECLARE(0)
            DECLARE(1)
            DECLARE(2)
            DECLARE(3)
            uint x = first + quad;
            uvec2 at = x * step;
            for (; x + 3u < end; x += LANES) {
                ADD(0)
                at += step;
                ADD(1)
                at += step;
                ADD(2)
                at += step;
                ADD(3)
                at += next_lanes;
            }
            // At most three depths are left.
            if (x < end) {
                ADD(0)
                at += step;
            }
            if (x + 1u < end) {
                ADD(1)
                at += step;
            }
            if (x + 2u < end) {
                ADD(2)
            }
            const NUMBERS low_quad = (low0 + low1) + (low2 + low3);
            const NUMBERS high_quad = (high0 + high1) + (high2 + high3);
            if (quad == QUAD) {
                low_half = low_quarter + low_quad;
                high_half = high_quarter + high_quad;
            } else if (quad == 3u * QUAD) {
                low_half += low_quarter + low_quad;
                high_half += high_quarter + high_quad;
            }
            low_quarter = low_quad;
            high_quarter = high_quad;
        }
        low_sum = low_half;
        high_sum = high_half;
        for (level = 0u; (blocks >> level & 1u) != 0u; ++level) {
            low_sum = waiting_low[level] + low_sum;
            high_sum = waiting_high[level] + high_sum;
        }
        waiting_low[level] = low_sum;
        waiting_high[level] = high_sum;
        ++blocks;
    }
    for (++level; blocks >> level != 0u; ++level) {
        if ((blocks >> level & 1u) != 0u) {
            low_sum = waiting_low[level] + low_sum;
            high_sum = waiting_high[level] + high_sum;
        }
    }
    const uvec4 of_columns = uvec4(0u, 0u, 0u, inner_stride(OUTPUT));
    write_sums(row_low, places + column * of_columns, 0u, QUAD, low_sum);
    if (has_high) {
        write_sums(row_low, places + next_column * of_columns, 0u, QUAD, high_sum);
    }
}
