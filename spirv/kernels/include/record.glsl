// What a kernel is told of an iteration space, and the parameters of its program.
// Mirrored by src/element_wise/record.rs.

// Elements of one invocation.
const uint QUAD = 4u;

layout(set = 0, binding = 8, std140) uniform Record {
    uvec4 inner;                // elements of a row, quads of a row, its divisor
    uvec4 outer[7];             // size and divisor of the outer dimensions, outermost first
    uvec4 starts[2];            // first element of each operand, the output's last
    uvec4 inner_strides[2];     // of each operand
    uvec4 strides[16];          // of each operand: two, of the outer dimensions
    uvec4 parameters[16];
} record;

uvec4 inner_size() {
    return record.inner;
}

uvec4 outer_size(const uint dimension) {
    return record.outer[dimension];
}

uint start_of(const uint operand) {
    return record.starts[operand >> 2][operand & 3u];
}

uint inner_stride(const uint operand) {
    return record.inner_strides[operand >> 2][operand & 3u];
}

uvec4 low_strides(const uint operand) {
    return record.strides[operand * 2u];
}

uvec4 high_strides(const uint operand) {
    return record.strides[operand * 2u + 1u];
}

uint parameter(const uint index) {
    return record.parameters[index >> 2][index & 3u];
}

#include "include/divide.glsl"
