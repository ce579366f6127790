// A skeleton: makes one element of every row of an iteration space.
//
// The elements of a row are joined in an order that only their number decides. Element e belongs to block e / 128, and
// there to lane e mod 16. A lane joins its elements in their order; then neighbours are joined, first the lanes of a
// block, then blocks, in a tree. Rows of states, which parts of rows have become, have a lane for each: blocks of 16.
//
// Without GROUP each invocation has a row. It goes through a block four times, each time through a quad of lanes, so that
// the functions that are linked are in the kernel once. With ONE_BLOCK no row is longer than a block; what may be joined in any order
// has one block with one quad of lanes. With GROUP an
// invocation has a quad of lanes of one block, and a row has as many invocations as that takes, a power of two; what they
// have is joined in memory that they share.
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

#include "include/dispatch.glsl"
#include "include/space.glsl"

// Lanes of a block.
const uint LANES = 16u;
// 1 << LEVELS blocks are more than a row has.
const uint LEVELS = 10u;

// A register of the state, as a value.
uvec4 held(inout uvec4 state) {
    return state;
}

// Sets all lanes: of one word each, or of a low and a high one.
void set(inout uvec4 state, const uint low, const uint high) {
    state = uvec4(low, high, low, high);
}

// Replaces the lanes of the first `n` elements of a quad.
void hold(inout uvec4 state, const uvec4 value, const uint n) {
    state = mix(state, value, lessThan(uvec4(0u, 1u, 2u, 3u), uvec4(n)));
}

// The same where a register has two elements: those of `part`.
void hold_wide(inout uvec4 state, const uvec4 value, const uint n, const uint part) {
    state = mix(state, value, lessThan(uvec4(0u, 0u, 1u, 1u) + 2u * part, uvec4(n)));
}

// Of two quads of lanes the ones that are joined with their right neighbours, and these.
uvec4 left_lanes(const uvec4 one, const uvec4 other) {
    return uvec4(one.xz, other.xz);
}

uvec4 right_lanes(const uvec4 one, const uvec4 other) {
    return uvec4(one.yw, other.yw);
}

// The second half of a register.
uvec4 upper_half(const uvec4 value) {
    return value.zwzw;
}

// What rounding has lost of an element.
uvec4 nothing() {
    return uvec4(0u);
}

// The linker replaces the bodies of these by calls of functions that it links and of those that are named
// here: the state before a row, the quad that is joined to it, and what is written in the end.
void linked_start(inout uvec4 a, inout uvec4 b) {
    set(a, 0u, 0u);
    set(b, 0u, 0u);
}

void linked_quad(
    const uvec4 low, const uvec4 high, const uint x, const uint n, inout uvec4 a, inout uvec4 b) {
    const uint at = element_of(OUTPUT, low, high, x) * inner_stride(OUTPUT) + parameter(0u);
    const uint one = read1_0(at) + read1_1(at) + read1_2(at) + read1_3(at) + read1_4(at)
        + read1_5(at) + read1_6(at) + every_narrow(at);
    const uvec2 two = read2_0(at) + read2_1(at) + read2_2(at) + read2_3(at) + read2_4(at)
        + read2_5(at) + read2_6(at);
    const uvec4 four = numbers(at, n) + read4_0(at) + read4_1(at) + read4_2(at) + read4_3(at)
        + read4_4(at) + read4_5(at) + read4_6(at);
    hold(a, held(b) + four + one + nothing(), n);
    hold_wide(b, two.xyxy, n, 0u);
}

#ifdef GRIDS
// Its columns and rows.
void linked_size(
    const uvec4 low, const uvec4 high, const uint x, const uint n, inout uvec4 size) {
    const uint at = element_of(0u, low, high, x);
    const uvec4 one = uvec4(read1_0(at) + read1_1(at) + read1_2(at) + read1_3(at) + read1_4(at)
        + read1_5(at) + read1_6(at));
    hold(size, one, n);
}
#endif

// Joins a state with its right neighbour, lane by lane.
void linked_join(inout uvec4 a, inout uvec4 b, inout uvec4 c, inout uvec4 d) {
    hold(a, held(b) + held(c) + held(d), QUAD);
}

// Joins the lanes of two quads with their neighbours; where a register has two lanes, the quads lane by lane.
void linked_pairs(inout uvec4 a, inout uvec4 b, inout uvec4 c, inout uvec4 d) {
    hold(a, left_lanes(held(a), held(c)) + right_lanes(held(b), held(d)), QUAD);
}

// Joins the lanes of a quad: what they are is in the first one then.
void linked_lanes(inout uvec4 a, inout uvec4 b) {
    const uvec4 halves = left_lanes(held(a), held(b)) + right_lanes(held(a), held(b));
    hold(a, halves + upper_half(held(a)), QUAD);
}

// Sets how many elements a block has, and how many lanes.
void linked_length(inout uvec4 length, inout uvec4 b) {
    set(length, 0u, 0u);
}

void linked_row(
    const uvec4 low, const uvec4 high, const uint x, const uint n, inout uvec4 a, inout uvec4 b) {
    const uvec4 value = held(a) + held(b);
    const uint at = element_of(OUTPUT, low, high, x);
    write1(at, value.x);
    write2(at, value.xy);
    write4(at, value);
    merge1(at, value.x, n);
}

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

#elif defined(GROUP)

// Of each invocation the state that it has, as much of it as is joined.
shared uvec4 states[LOCAL_SIZE_LITERAL];

void main() {
    uvec4 length;
    uvec4 unused;
    linked_length(length, unused);
    const uint size = inner_size().x;
    const uint blocks = (size + length.x - 1u) / length.x;
    // Invocations of a row are 1 << shift: four for each block, and a power of two.
    const uint shift = blocks == 1u ? 2u : 3u + uint(findMSB(blocks - 1u));
    const uint invocation = gl_LocalInvocationIndex;
    const uint row = (linear_group(push.first_group) << 8u - shift) + (invocation >> shift);
    const uint place = invocation & (1u << shift) - 1u;
    uvec4 low;
    uvec4 high;
    outer_coordinate(min(row, push.count - 1u), low, high);

    uvec4 a;
    uvec4 b;
    linked_start(a, b);
    const uint first = (place >> 2) * length.x;
    const uint end = min(size, first + length.x);
    for (uint x = 0u; x < length.x; x += LANES) {
        const uint at = first + x + QUAD * (place & 3u);
        // Past the end of the row nothing is held of what is read, which is something that is there.
        linked_quad(low, high, min(at, size - 1u & ~3u), at < end ? min(QUAD, end - at) : 0u, a, b);
    }
    linked_lanes(a, b);
    for (uint step = 1u; step < 1u << shift; step <<= 1) {
        states[invocation] = uvec4(a.xy, b.xy);
        barrier();
        const uvec4 other = states[invocation ^ step];
        barrier();
        const bool is_left = (invocation & step) == 0u;
        uvec4 right_a = is_left ? other.xyxy : a;
        uvec4 right_b = is_left ? other.zwzw : b;
        a = is_left ? a : other.xyxy;
        b = is_left ? b : other.zwzw;
        linked_join(a, b, right_a, right_b);
    }
    if (row < push.count && place == 0u) {
        linked_row(low, high, 0u, 1u, a, b);
    }
}

#else

// The state of a block, which has elements, of so many lanes. Drivers that execute what is masked would go through loops
// that test first once more.
void reduce_block(const uvec4 low, const uvec4 high, const uint first, const uint end, const uint lanes,
    inout uvec4 a, inout uvec4 b) {
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
            linked_quad(low, high, x, min(QUAD, end - x), a, b);
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

void main() {
    uint index;
    if (!linear_index(push.first_group, push.count, index)) {
        return;
    }
    uvec4 low;
    uvec4 high;
    outer_coordinate(index, low, high);
    const uint size = varying_bound(inner_size().x, index);
    uvec4 a;
    uvec4 b;
    uvec4 length;
    uvec4 unused;
    linked_length(length, unused);
#ifdef ONE_BLOCK
    reduce_block(low, high, 0u, size, length.y, a, b);
#else
    // The states of 1, 2, 4, .. blocks that have no right neighbour yet: those whose bit is set in the number of blocks.
    uvec4 waiting_a[LEVELS];
    uvec4 waiting_b[LEVELS];
    uint blocks = 0u;
    uint level = 0u;
    uint first = 0u;
    do {
        reduce_block(low, high, first, min(size, first + length.x), length.y, a, b);
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
    } while (first < size);
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
    linked_row(low, high, 0u, 1u, a, b);
}

#endif
