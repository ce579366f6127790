// Writes every element of a tensor, the value in a band of diagonals and an input's element
// elsewhere, and no byte between the elements of a strided tensor.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "include/band.glsl"
#include "include/dispatch.glsl"
#include "include/element.glsl"
#include "include/input.glsl"

// Three sizes, then the output's four strides, then the input's, all in elements and in the order of
// the constants below. They do not fit the push constants.
layout(set = 0, binding = 2, std430) readonly buffer Constants {
    uint constants[];
};

// Mirrored by twins/diagonal_merge.rs.
layout(push_constant, std430) uniform PushConstants {
    uint base_word;
    uint input_word;     // of the input's first byte
    uint constants_word; // of the first size
    uint first_group;
    uint count;          // of all elements, at least 1
    uint band_begin;     // as in_band takes it
    uint band_length;    // 0 where no element gets the value
    uint value_low;
    uint value_high;
} push;

const uint SIZE1 = 0u; // of the inner batch dimension
const uint HEIGHT = 1u;
const uint WIDTH = 2u;
const uint OUTPUT_STRIDES = 3u;
const uint INPUT_STRIDES = 7u;

uint constant(uint at) {
    return constants[push.constants_word + at];
}

uint element_at(uint strides, uvec4 coordinate) {
    return coordinate[0] * constant(strides)
        + coordinate[1] * constant(strides + 1u)
        + coordinate[2] * constant(strides + 2u)
        + coordinate[3] * constant(strides + 3u);
}

void main() {
    uint index;
    if (!linear_index(push.first_group, push.count, index)) {
        return;
    }
    const uint size1 = constant(SIZE1);
    const uint height = constant(HEIGHT);
    const uint width = constant(WIDTH);
    const uint x = index % width;
    const uint row = index / width;
    const uint y = row % height;
    const uint batch = row / height;
    const uvec4 coordinate = uvec4(batch / size1, batch % size1, y, x);

    uvec2 pattern = uvec2(push.value_low, push.value_high);
    if (!in_band(height, y, x, push.band_begin, push.band_length)) {
        pattern = load(push.input_word, element_at(INPUT_STRIDES, coordinate));
    }
    store(push.base_word, element_at(OUTPUT_STRIDES, coordinate), pattern.x, pattern.y);
}
