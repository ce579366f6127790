// How the elements of a row are joined, by whoever does it.
//
// The elements of a row are joined in an order that only their number decides. Element e belongs to block e / 128, and
// there to lane e mod 16. A lane joins its elements in their order; then neighbours are joined, first the lanes of a
// block, then blocks, in a tree. Rows of states, which parts of rows have become, have a lane for each: blocks of 16.
//
// Without GROUP each invocation has a row. It goes through a block four times, each time through a quad of lanes, so that
// the functions that are linked are in the kernel once. With ONE_BLOCK no row is longer than a block; what may be joined
// in any order has one block with one quad of lanes. With GROUP an invocation has a quad of lanes of one block, and a row
// has as many invocations as that takes, a power of two; what they have is joined in memory that they share. With LONG
// all invocations of a work group go through a row in turns, each of as many blocks as they have at one time. With SEGMENTS
// several work groups share a row, each with as many blocks as it has at one time: a segment.

// Lanes of a block.
const uint LANES = 16u;
// 1 << LEVELS blocks are more than a row has.
const uint LEVELS = 10u;

#include "include/joining.glsl"

// A row, and which of it an invocation has.
struct Row {
    // Where it begins in each operand.
    uvec4 low;
    uvec4 high;
    uint size;
    // Of a group: the number among the invocations of the row, which are 1 << shift.
    uint place;
    uint shift;
    // Whether there is such a row.
    bool is_there;
#ifdef SEGMENTS
    // The number of this work group's segment.
    uint segment;
#endif
};

#ifdef GROUP

// Of each invocation the state that it has, as much of it as is joined.
shared uvec4 states[LOCAL_SIZE_LITERAL];

// Quads that an invocation has.
const uint QUADS = 8u;

#if defined(LONG) || defined(SEGMENTS)
#define TURNS
// Blocks of a row that a work group has at one time.
const uint BLOCKS_OF_TURN = LOCAL_SIZE_LITERAL / 4u;
#endif

#ifdef SEGMENTS
const uint SEGMENT = BLOCKS_OF_TURN * QUADS * LANES;

// Segments of a row of so many elements.
uint segments_of(const uint size) {
    return (size + SEGMENT - 1u) / SEGMENT;
}
#endif

#if defined(PHASES) && !defined(TURNS)
#define KEEPS
#endif

#ifdef KEEPS
// What is kept of each quad, the one that it is the turn of first. They change places in each turn, and are where they were
// after all: registers cannot be found by a number.
uvec4 kept_quads[QUADS];
#endif

// Ends the turn of a quad.
void next_quad() {
#ifdef KEEPS
    const uvec4 first = kept_quads[0];
    kept_quads[0] = kept_quads[1];
    kept_quads[1] = kept_quads[2];
    kept_quads[2] = kept_quads[3];
    kept_quads[3] = kept_quads[4];
    kept_quads[4] = kept_quads[5];
    kept_quads[5] = kept_quads[6];
    kept_quads[6] = kept_quads[7];
    kept_quads[7] = first;
#endif
}

// The row of this invocation; where there is none the last one.
Row row_of_invocation() {
    uvec4 length;
    uvec4 unused;
    linked_length(length, unused);
    Row row;
    row.size = inner_size().x;
#ifdef SEGMENTS
    row.shift = 8u;
    row.place = gl_LocalInvocationIndex;
    const uint index = linear_group(push.first_group);
    row.is_there = index < push.count;
    const uint segments = segments_of(row.size);
    const uint at = min(index, push.count - 1u);
    row.segment = at % segments;
    find_row(at / segments, row.low, row.high);
#else
    const uint blocks = (row.size + length.x - 1u) / length.x;
    // Four invocations for each block, and a power of two; no more than a work group has.
    row.shift = min(8u, blocks == 1u ? 2u : 3u + uint(findMSB(blocks - 1u)));
    const uint invocation = gl_LocalInvocationIndex;
    const uint index = (linear_group(push.first_group) << 8u - row.shift) + (invocation >> row.shift);
    row.place = invocation & (1u << row.shift) - 1u;
    row.is_there = index < push.count;
    find_row(min(index, push.count - 1u), row.low, row.high);
#endif
    return row;
}

// How many elements of the quad that begins at `x` are in the row, before `end`.
uint elements_of_quad(const uint x, const uint end) {
    return x < end ? min(QUAD, end - x) : 0u;
}

// Where a quad is read that may be past the end: something that is there.
uint within(const Row row, const uint x) {
    return min(x, row.size - 1u & ~3u);
}

// Joins the states of the invocations of a row; all of them have the result.
void join_invocations(const Row row, inout uvec4 a, inout uvec4 b) {
    for (uint step = 1u; step < 1u << row.shift; step <<= 1) {
        states[gl_LocalInvocationIndex] = uvec4(a.xy, b.xy);
        barrier();
        const uvec4 other = states[gl_LocalInvocationIndex ^ step];
        barrier();
        const bool is_left = (gl_LocalInvocationIndex & step) == 0u;
        uvec4 right_a = is_left ? other.xyxy : a;
        uvec4 right_b = is_left ? other.zwzw : b;
        a = is_left ? a : other.xyxy;
        b = is_left ? b : other.zwzw;
        linked_join(a, b, right_a, right_b);
    }
}

// The state of the blocks from that one on, one for every four invocations of the row.
void reduce_blocks(const Row row, const uint first_block, const uint length, inout uvec4 a, inout uvec4 b) {
    linked_start(a, b);
    const uint start = (first_block + (row.place >> 2)) * length;
    const uint end = min(row.size, start + length);
    const uint first = start + QUAD * (row.place & 3u);
    for (uint x = 0u; x < length; x += LANES) {
        // Past the end nothing is held of what is read.
        const uint at = first + x;
        linked_quad(row.low, row.high, within(row, at), elements_of_quad(at, end), a, b);
        next_quad();
    }
    linked_lanes(a, b);
    join_invocations(row, a, b);
}

// The state of a row, in all of its invocations.
void reduce_row(const Row row, inout uvec4 a, inout uvec4 b) {
    uvec4 length;
    uvec4 unused;
    linked_length(length, unused);
#ifdef TURNS
    // Each turn is a subtree, whose state one invocation has; invocations without a turn have the neutral one.
    uvec4 turn_a;
    uvec4 turn_b;
    linked_start(turn_a, turn_b);
    uint turn = 0u;
    uint first_block = 0u;
    do {
        reduce_blocks(row, first_block, length.x, a, b);
        turn_a = turn == row.place ? a : turn_a;
        turn_b = turn == row.place ? b : turn_b;
        ++turn;
        first_block += BLOCKS_OF_TURN;
    } while (first_block * length.x < row.size);
    a = turn_a;
    b = turn_b;
    join_invocations(row, a, b);
#else
    reduce_blocks(row, 0u, length.x, a, b);
#endif
}

#elif !defined(GRIDS)

// The row of this invocation, unless there is none.
Row row_of_invocation() {
    Row row;
    uint index;
    row.is_there = linear_index(push.first_group, push.count, index);
    row.place = 0u;
    row.shift = 0u;
    find_row(index, row.low, row.high);
    row.size = varying_bound(inner_size().x, index);
    return row;
}

// The state of a block, which has elements, of so many lanes. Drivers that execute what is masked would go through loops
// that test first once more.
void reduce_block(const Row row, const uint first, const uint end, const uint lanes, inout uvec4 a, inout uvec4 b) {
    // The quad before, and the first two.
    uvec4 before_a;
    uvec4 before_b;
    uvec4 half_a;
    uvec4 half_b;
    // Quads of lanes that have elements.
    const uint quads = (min(lanes, end - first) + QUAD - 1u) / QUAD;
    uint quad = 0u;
    do {
        linked_start(a, b);
        uint x = first + QUAD * quad;
        do {
            linked_quad(row.low, row.high, x, min(QUAD, end - x), a, b);
            x += lanes;
        } while (x < end);
        if ((quad & 1u) == 0u) {
            before_a = a;
            before_b = b;
        } else {
            linked_pairs(before_a, before_b, a, b);
        }
        if (quad == 1u) {
            half_a = before_a;
            half_b = before_b;
        }
        ++quad;
    } while (quad < quads);
    if (quads == 3u) {
        linked_start(a, b);
        linked_pairs(before_a, before_b, a, b);
    }
    if (quads > 2u) {
        linked_pairs(half_a, half_b, before_a, before_b);
    }
    a = quads > 1u ? half_a : before_a;
    b = quads > 1u ? half_b : before_b;
    linked_lanes(a, b);
}

// The state of a row.
void reduce_row(const Row row, inout uvec4 a, inout uvec4 b) {
    uvec4 length;
    uvec4 unused;
    linked_length(length, unused);
#ifdef ONE_BLOCK
    reduce_block(row, 0u, row.size, length.y, a, b);
#else
    // The states of 1, 2, 4, .. blocks that have no right neighbour yet: those whose bit is set in the number of blocks.
    uvec4 waiting_a[LEVELS];
    uvec4 waiting_b[LEVELS];
    uint blocks = 0u;
    uint level = 0u;
    uint first = 0u;
    do {
        reduce_block(row, first, min(row.size, first + length.x), length.y, a, b);
        for (level = 0u; (blocks >> level & 1u) != 0u; ++level) {
            uvec4 right_a = a;
            uvec4 right_b = b;
            a = waiting_a[level];
            b = waiting_b[level];
            linked_join(a, b, right_a, right_b);
        }
        waiting_a[level] = a;
        waiting_b[level] = b;
        ++blocks;
        first += length.x;
    } while (first < row.size);
    for (++level; blocks >> level != 0u; ++level) {
        if ((blocks >> level & 1u) != 0u) {
            uvec4 right_a = a;
            uvec4 right_b = b;
            a = waiting_a[level];
            b = waiting_b[level];
            linked_join(a, b, right_a, right_b);
        }
    }
#endif
}

#endif
