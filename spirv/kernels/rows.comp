// A skeleton: reduces rows and computes with what they become, phase after phase, in one kernel: a softmax or a norm.
// include/rows.glsl says who has a row and in which order its elements are joined.
//
// An invocation reads and writes the same elements in all phases, so that phases need not wait for each other. What a
// phase makes of elements is kept in registers with GROUP, where an invocation has eight quads; with LONG, and without
// GROUP, it is written to the output, and read from there. With SEGMENTS nothing is kept: a kernel makes states of segments,
// or joins such states, in every work group of a row, and computes with them.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require

#ifdef GROUP
#define LOCAL_SIZE_LITERAL 256
#endif

#define PHASES
#define KNOWS_ROWS

#include "include/dispatch.glsl"
#include "include/space.glsl"

#include "include/rows.glsl"

// Values of the row, of one word each.
const uint VALUES = 16u;
uvec4 row_values[VALUES];

#ifdef KEEPS
uvec4 kept() {
    return kept_quads[0];
}

void keep(const uvec4 value) {
    kept_quads[0] = value;
}
#endif

// A value of the row, in all lanes.
uvec4 row_value(const uint number) {
    return row_values[number].xxxx;
}

void set_row_value(const uint number, const uvec4 value) {
    row_values[number] = value;
}

// The linker replaces the bodies of these: what a phase makes of the state of a row, or of values of the row; what it
// makes of a quad of elements; and, below, all phases.
void linked_row(
    const uvec4 low, const uvec4 high, const uint x, const uint n, inout uvec4 a, inout uvec4 b) {
    set_row_value(0u, held(a) + held(b) + row_value(0u));
#ifdef SEGMENTS
    write_every(x, n);
#endif
}

void linked_element(
    const uvec4 low, const uvec4 high, const uint x, const uint n) {
    const uint at = every_place(low, high, x)
        + element_of_every_row(OUTPUT, x) + parameter(0u);
    write1(at, at);
    write2(at, uvec2(at));
    write4(at, row_value(0u));
    merge1(at, at, n);
#ifdef KEEPS
    keep(kept());
#endif
}

#ifdef SEGMENTS

// Joins the states of the row's segments.
void join_phase(const Row row) {
    Row states = row;
    states.size = segments_of(row.size);
    uvec4 a;
    uvec4 b;
    reduce_row(states, a, b);
    linked_row(row.low, row.high, 0u, 1u, a, b);
}

// Writes the state of the segment.
void segment_phase(const Row row) {
    uvec4 length;
    uvec4 unused;
    linked_length(length, unused);
    uvec4 a;
    uvec4 b;
    reduce_blocks(row, row.segment * BLOCKS_OF_TURN, length.x, a, b);
    if (row.is_there && row.place == 0u) {
        linked_row(row.low, row.high, row.segment, 1u, a, b);
    }
}

#else

// Reduces the row.
void reduce_phase(const Row row) {
    uvec4 a;
    uvec4 b;
    reduce_row(row, a, b);
    linked_row(row.low, row.high, 0u, 1u, a, b);
}

#endif

// Writes a value of the row. The first work group of a row does so for the others.
void store_phase(const Row row) {
    uvec4 a = uvec4(0u);
    uvec4 b = uvec4(0u);
    bool is_first = row.is_there && row.place == 0u;
#ifdef SEGMENTS
    is_first = is_first && row.segment == 0u;
#endif
    if (is_first) {
        linked_row(row.low, row.high, 0u, 1u, a, b);
    }
}

// Computes with values of the row.
void row_phase(const Row row) {
    uvec4 a = uvec4(0u);
    uvec4 b = uvec4(0u);
    linked_row(row.low, row.high, 0u, 1u, a, b);
}

#ifdef GROUP

// The element that the first quad of an invocation begins with.
uint first_of_quads(const Row row) {
    return (row.place >> 2) * QUADS * LANES + QUAD * (row.place & 3u);
}

#ifdef KEEPS
// Computes quads that are kept.
void keep_phase(const Row row) {
    uint x = first_of_quads(row);
    for (uint quad = 0u; quad < QUADS; ++quad) {
        linked_element(row.low, row.high, within(row, x), elements_of_quad(x, row.size));
        next_quad();
        x += LANES;
    }
}
#endif

// Writes elements of the output.
void write_phase(const Row row) {
    uint x = first_of_quads(row);
#ifdef SEGMENTS
    x += row.segment * SEGMENT;
#endif
    const uint end = row.is_there ? row.size : 0u;
#ifdef LONG
    while (x < end) {
#endif
    for (uint quad = 0u; quad < QUADS; ++quad) {
        const uint n = elements_of_quad(x, end);
        if (n > 0u) {
            linked_element(row.low, row.high, x, n);
        }
        next_quad();
        x += LANES;
    }
#ifdef LONG
        x += (BLOCKS_OF_TURN - 1u) * QUADS * LANES;
    }
#endif
}

#else

// Writes elements of the output, of which a row has some.
void write_phase(const Row row) {
    uint x = 0u;
    do {
        linked_element(row.low, row.high, x, min(QUAD, row.size - x));
        x += QUAD;
    } while (x < row.size);
}

#endif

// The linker replaces the body by calls of copies of these, one for each phase.
void linked_phases(const Row row) {
#ifdef SEGMENTS
    join_phase(row);
    segment_phase(row);
#else
    reduce_phase(row);
#endif
    store_phase(row);
    row_phase(row);
#ifdef KEEPS
    keep_phase(row);
#endif
    write_phase(row);
}

void main() {
    const Row row = row_of_invocation();
#ifndef GROUP
    if (!row.is_there) {
        return;
    }
#endif
    linked_phases(row);
}
