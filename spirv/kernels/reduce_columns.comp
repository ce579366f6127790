// A skeleton: reduces rows that are columns. Their elements are far apart in memory, and those of neighbouring columns are
// adjacent. A work group has some quads of columns, each several times: an invocation has a quad of columns, and of
// these a quad of lanes of one block (include/rows.glsl). Invocations that follow each other have quads of columns that
// do, so that what they read at a time is adjacent.
//
// Quads go along columns; the last outer dimension goes along the rows. Its size in the record is 1; the fourth word beside
// it is the number of elements of a row.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require

#define LOCAL_SIZE_LITERAL 256
#define KNOWS_ROWS

#include "include/dispatch.glsl"
#include "include/space.glsl"
#include "include/joining.glsl"
#include "include/result.glsl"

// Lanes of a block.
const uint LANES = 16u;
// A work group has 1 << GROUP_SHIFT invocations.
const uint GROUP_SHIFT = 8u;
// It has at most 1 << WIDTH quads of columns, unless rows are short.
const uint WIDTH = 4u;

// Of each invocation the state that it has.
shared uvec4 states_a[LOCAL_SIZE_LITERAL];
shared uvec4 states_b[LOCAL_SIZE_LITERAL];

// A quad of columns, and which part of it an invocation has.
struct Columns {
    // Where the first elements of the columns' rows are in each operand, and how far it is to the next elements.
    uvec4 low;
    uvec4 high;
    uvec4 low_step;
    uvec4 high_step;
    // The first column, and how many the quad has.
    uint x;
    uint n;
    // The number among the 1 << shift invocations that have these columns.
    uint place;
    uint shift;
    // Elements of a row.
    uint size;
};

// The least power of two that is not below `number`, as an exponent.
uint exponent_of(const uint number) {
    return number == 1u ? 0u : 1u + uint(findMSB(number - 1u));
}

// The columns of this invocation; where there are none the last ones, of which it has no elements.
Columns columns_of_invocation(const uint group, const uint blocks) {
    Columns it;
    const uint quads = varying_bound(inner_size().y, group);
    it.size = varying_bound(outer_size(6u).w, group);
    it.shift = min(GROUP_SHIFT - min(WIDTH, exponent_of(quads)), 2u + exponent_of(blocks));
    const uint width = GROUP_SHIFT - it.shift;
    it.place = gl_LocalInvocationIndex >> width;
    const uint groups_of_row = (quads + (1u << width) - 1u) >> width;
    const uint row = group / groups_of_row;
    const uint quad = (group - row * groups_of_row << width) + (gl_LocalInvocationIndex & (1u << width) - 1u);
    it.x = QUAD * min(quad, quads - 1u);
    it.n = quad < quads ? min(QUAD, inner_size().x - it.x) : 0u;
    find_row(row, it.low, it.high);
    it.low_step = uvec4(high_strides(0u).z, high_strides(1u).z, high_strides(2u).z, high_strides(3u).z);
    it.high_step = uvec4(high_strides(4u).z, high_strides(5u).z, high_strides(6u).z, 0u);
    return it;
}

// Joins the states of the invocations that have the same columns; all of them have the result.
void join_invocations(const Columns columns, inout uvec4 a, inout uvec4 b) {
    for (uint step = LOCAL_SIZE_LITERAL >> columns.shift; step < LOCAL_SIZE_LITERAL; step <<= 1) {
        states_a[gl_LocalInvocationIndex] = a;
        states_b[gl_LocalInvocationIndex] = b;
        barrier();
        const uvec4 other_a = states_a[gl_LocalInvocationIndex ^ step];
        const uvec4 other_b = states_b[gl_LocalInvocationIndex ^ step];
        barrier();
        const bool is_left = (gl_LocalInvocationIndex & step) == 0u;
        uvec4 right_a = is_left ? other_a : a;
        uvec4 right_b = is_left ? other_b : b;
        a = is_left ? a : other_a;
        b = is_left ? b : other_b;
        linked_join(a, b, right_a, right_b);
    }
}

// The state of a lane of a block: of every 16th element of the columns from `first` on.
void reduce_lane(
    const Columns columns, const uint first, const uint end, const uint length, inout uvec4 a, inout uvec4 b) {
    linked_start(a, b);
    for (uint y = 0u; y < length; y += LANES) {
        // Past the end something is read that is there, and nothing is held of it.
        const uint n = first + y < end ? columns.n : 0u;
        const uint at = min(first + y, columns.size - 1u);
        linked_quad(
            columns.low + at * columns.low_step, columns.high + at * columns.high_step, columns.x, n, a, b);
    }
}

// The state of the blocks from that one on, one for every four invocations that have the columns.
void reduce_blocks(
    const Columns columns, const uint first_block, const uint length, inout uvec4 a, inout uvec4 b) {
    const uint start = (first_block + (columns.place >> 2)) * length;
    const uint end = min(columns.size, start + length);
    const uint first = start + QUAD * (columns.place & 3u);
    // The lane before, and the first two.
    uvec4 before_a = uvec4(0u);
    uvec4 before_b = uvec4(0u);
    uvec4 half_a = uvec4(0u);
    uvec4 half_b = uvec4(0u);
    for (uint lane = 0u; lane < QUAD; ++lane) {
        reduce_lane(columns, first + lane, end, length, a, b);
        if ((lane & 1u) == 0u) {
            before_a = a;
            before_b = b;
        } else {
            linked_join(before_a, before_b, a, b);
        }
        if (lane == 1u) {
            half_a = before_a;
            half_b = before_b;
        }
    }
    linked_join(half_a, half_b, before_a, before_b);
    a = half_a;
    b = half_b;
    join_invocations(columns, a, b);
}

void main() {
    const uint group = linear_group(push.first_group);
    if (group >= push.count) {
        return;
    }
    uvec4 length;
    uvec4 unused;
    linked_length(length, unused);
    const uint blocks = (varying_bound(outer_size(6u).w, group) + length.x - 1u) / length.x;
    const Columns columns = columns_of_invocation(group, blocks);
    const uint blocks_of_turn = 1u << columns.shift - 2u;
    uvec4 a;
    uvec4 b;
    reduce_blocks(columns, 0u, length.x, a, b);
    if (blocks > blocks_of_turn) {
        // Each turn is a subtree, whose state one invocation has; invocations without a turn have the neutral one.
        uvec4 turn_a;
        uvec4 turn_b;
        linked_start(turn_a, turn_b);
        turn_a = columns.place == 0u ? a : turn_a;
        turn_b = columns.place == 0u ? b : turn_b;
        uint turn = 1u;
        for (uint first = blocks_of_turn; first < blocks; first += blocks_of_turn) {
            reduce_blocks(columns, first, length.x, a, b);
            turn_a = columns.place == turn ? a : turn_a;
            turn_b = columns.place == turn ? b : turn_b;
            ++turn;
        }
        a = turn_a;
        b = turn_b;
        join_invocations(columns, a, b);
    }
    if (columns.place == 0u && columns.n > 0u) {
        linked_row(columns.low, columns.high, columns.x, columns.n, a, b);
    }
}
