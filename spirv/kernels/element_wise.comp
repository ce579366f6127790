// A skeleton: applies a program to every element of an iteration space. Each invocation has a quad,
// four elements of a row, or fewer at a row's end.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require

#include "include/dispatch.glsl"
#include "include/space.glsl"

// What is done with a quad; `n` of its elements are in the row. The linker replaces the body by calls
// of functions that it links and of those that are named here.
void linked_quad(const uvec4 low, const uvec4 high, const uint x, const uint n) {
    const uint at = every_place(low, high, x) * inner_stride(OUTPUT) + parameter(0u);
    const uint one = read1_0(at) + read1_1(at) + read1_2(at) + read1_3(at) + read1_4(at)
        + read1_5(at) + read1_6(at) + every_narrow(at);
    const uvec2 two = read2_0(at) + read2_1(at) + read2_2(at) + read2_3(at) + read2_4(at)
        + read2_5(at) + read2_6(at);
    const uvec4 four = numbers(at, n) + read4_0(at) + read4_1(at) + read4_2(at) + read4_3(at) + read4_4(at)
        + read4_5(at) + read4_6(at);
    write1(at, one);
    write2(at, two);
    write4(at, four);
    merge1(at, one, n);
}

void main() {
    uint index;
    if (!linear_index(push.first_group, push.count, index)) {
        return;
    }
    const uvec4 inner = inner_size();
#if OUTER_DIMENSIONS == 0
    const uint row = 0u;
#else
    const uint row = divide(index, inner.z, inner.w);
#endif
    const uint x = (index - row * inner.y) * QUAD;
    uvec4 low;
    uvec4 high;
    outer_coordinate(row, low, high);
    linked_quad(low, high, x, min(QUAD, inner.x - x));
}
