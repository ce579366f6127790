// A skeleton: adds up products along rows that are neighbours in the last outer dimension and have a factor in common. Each
// invocation has four of them, and reads the common factor once for all four. Sums are in the order that include/sums.glsl
// says; the elements of a row are a multiple of its lanes, which are read at a time.
//
// The size of the last outer dimension in the record is 1; the fourth word beside it is the number of neighbours.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require

#define KNOWS_ROWS

#include "include/dispatch.glsl"
#include "include/space.glsl"
#include "include/sums.glsl"

const uint ROWS = 4u;

uint further(const uint x, const uint by) {
    return x + by;
}

// The linker replaces the bodies of both: a factor of the elements of all lanes from `x` on, quad after quad.
#define FACTOR(NAME)                                                                                                  \
    void linked_##NAME(const uvec4 low, const uvec4 high, const uint x,                                                \
        inout uvec4 a, inout uvec4 b, inout uvec4 c, inout uvec4 d) {                                                 \
        linked_quad(low, high, further(x, QUAD), QUAD, a, b);                                                         \
        linked_quad(low, high, x, QUAD, c, d);                                                                        \
    }
FACTOR(common)
FACTOR(own)

// Each row has variables of its own, which SwiftShader keeps in registers. Past the last row an invocation computes that one
// again.
#define EACH_ROW(DO) DO(0) DO(1) DO(2) DO(3)
#define FIND(I)                                                                                                       \
    const uint number##I = min(first_row + uint(I), all - 1u);                                                        \
    const uvec4 low##I = low + number##I * next_low;                                                                  \
    const uvec4 high##I = high + number##I * next_high;                                                               \
    /* The sums of 1, 2, 4, .. blocks that have no right neighbour yet. */                                            \
    NUMBER waiting##I[LEVELS];                                                                                        \
    NUMBER sum##I = NEUTRAL;
#define START(I)                                                                                                      \
    NUMBERS a##I = NUMBERS(NEUTRAL);                                                                                  \
    NUMBERS b##I = NUMBERS(NEUTRAL);                                                                                  \
    NUMBERS c##I = NUMBERS(NEUTRAL);                                                                                  \
    NUMBERS d##I = NUMBERS(NEUTRAL);
#define ADD(I)                                                                                                        \
    linked_own(low##I, high##I, x, own_a, own_b, own_c, own_d);                                                       \
    a##I += FROM_BITS(common_a) * FROM_BITS(own_a);                                                                   \
    b##I += FROM_BITS(common_b) * FROM_BITS(own_b);                                                                   \
    c##I += FROM_BITS(common_c) * FROM_BITS(own_c);                                                                   \
    d##I += FROM_BITS(common_d) * FROM_BITS(own_d);
#define OF_QUAD(LANES) ((LANES.x + LANES.y) + (LANES.z + LANES.w))
#define END(I) sum##I = (OF_QUAD(a##I) + OF_QUAD(b##I)) + (OF_QUAD(c##I) + OF_QUAD(d##I));
#define JOIN(I) sum##I = waiting##I[level] + sum##I;
#define WAIT(I) waiting##I[level] = sum##I;

// From a row to the next one, in elements of each operand.
uint next_of(const uint operand) {
    return high_strides(operand)[2];
}

void main() {
    uint index;
    if (!linear_index(push.first_group, push.count, index)) {
        return;
    }
    const uint all = outer_size(6u).w;
    const uint of_neighbours = (all + ROWS - 1u) / ROWS;
    const uint outer = index / of_neighbours;
    const uint first_row = ROWS * (index - outer * of_neighbours);
    uvec4 low;
    uvec4 high;
    find_row(outer, low, high);
    const uvec4 next_low = uvec4(next_of(0u), next_of(1u), next_of(2u), next_of(3u));
    const uvec4 next_high = uvec4(next_of(4u), next_of(5u), next_of(6u), next_of(OUTPUT));
    const uint size = varying_bound(inner_size().x, index);
    uint blocks = 0u;
    uint level = 0u;
    EACH_ROW(FIND)
    uvec4 common_a = uvec4(0u), common_b = uvec4(0u), common_c = uvec4(0u), common_d = uvec4(0u);
    uvec4 own_a = uvec4(0u), own_b = uvec4(0u), own_c = uvec4(0u), own_d = uvec4(0u);
    for (uint first = 0u; first < size; first += BLOCK) {
        const uint end = min(first + BLOCK, size);
        EACH_ROW(START)
        for (uint x = first; x < end; x += LANES) {
            linked_common(low0, high0, x, common_a, common_b, common_c, common_d);
            EACH_ROW(ADD)
        }
        EACH_ROW(END)
        for (level = 0u; (blocks >> level & 1u) != 0u; ++level) {
            EACH_ROW(JOIN)
        }
        EACH_ROW(WAIT)
        ++blocks;
    }
    for (++level; blocks >> level != 0u; ++level) {
        if ((blocks >> level & 1u) != 0u) {
            EACH_ROW(JOIN)
        }
    }
    // A loop, since what is linked may be large.
    const NUMBER sums[ROWS] = NUMBER[ROWS](sum0, sum1, sum2, sum3);
    for (uint row = 0u; row < min(ROWS, all - first_row); ++row) {
        const uint number = first_row + row;
        write_sums(low + number * next_low, high + number * next_high, 0u, 1u, NUMBERS(sums[row]));
    }
}
