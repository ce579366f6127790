// A skeleton: makes one element of every row of an iteration space. Each invocation has a row, quad after
// quad: what it has of those before is the state, two registers of four lanes. At the row's end the lanes
// are joined, always in the same order.
//
// With GRIDS a row is a grid: the last outer dimension goes through its rows, and how many columns and rows
// there are is read for each.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require

#include "include/dispatch.glsl"
#include "include/space.glsl"

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

// What the first two lanes are joined with, and then the first.
uvec4 upper_half(const uvec4 value) {
    return value.zwzw;
}

uvec4 second(const uvec4 value) {
    return value.yyyy;
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

void linked_row(
    const uvec4 low, const uvec4 high, const uint x, const uint n, inout uvec4 a, inout uvec4 b) {
    const uvec4 value = second(upper_half(held(a) + held(b)));
    const uint at = element_of(OUTPUT, low, high, x);
    write1(at, value.x);
    write2(at, value.xy);
    write4(at, value);
    merge1(at, value.x, n);
}

void main() {
    uint index;
    if (!linear_index(push.first_group, push.count, index)) {
        return;
    }
    uvec4 low;
    uvec4 high;
    outer_coordinate(index, low, high);
#ifdef GRIDS
    uvec4 size = uvec4(0u);
    linked_size(low, high, 0u, QUAD, size);
#else
    const uint size = varying_bound(inner_size().x, index);
#endif
    uvec4 a;
    uvec4 b;
    linked_start(a, b);
#ifdef GRIDS
    for (uint y = 0u; y < size.y; ++y) {
        high[2] = y;
        for (uint x = 0u; x < size.x; x += QUAD) {
            linked_quad(low, high, x, min(QUAD, size.x - x), a, b);
        }
    }
    high[2] = 0u;
#else
    for (uint x = 0u; x < size; x += QUAD) {
        linked_quad(low, high, x, min(QUAD, size - x), a, b);
    }
#endif
    linked_row(low, high, 0u, 1u, a, b);
}
