// Writes every element of a tensor, the value in a band of diagonals and an input's element
// elsewhere, and no byte between the elements of a strided tensor.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "include/band.glsl"
#include "include/dispatch.glsl"
#include "include/element.glsl"
#include "include/input.glsl"
#include "include/runs.glsl"
#include "include/matrices.glsl"

// The output's four strides, then the input's, in elements: batches, rows, columns. They do not fit
// the push constants.
layout(set = 0, binding = 2, std430) readonly buffer Constants {
    uint constants[];
};

// Mirrored by twins/diagonal_merge.rs.
layout(push_constant, std430) uniform PushConstants {
    uint base_word;
    uint input_word;     // of the input window's first byte
    uint constants_word; // of the first stride
    uint first_group;
    uint count;          // of all elements, at least 1
    Matrices matrices;
    uint input_start;    // the input's first element, counted from its window's first word
    uint band_begin;     // as in_band takes it
    uint band_length;    // 0 where no element gets the value
} push;

const uint OUTPUT_STRIDES = 0u;
const uint INPUT_STRIDES = 4u;

uvec4 strides_at(uint offset) {
    const uint at = push.constants_word + offset;
    return uvec4(constants[at], constants[at + 1u], constants[at + 2u], constants[at + 3u]);
}

void main() {
    Run run;
    if (!run_of(push.first_group, push.count, run)) {
        return;
    }
    const Matrices matrices = push.matrices;
    const uvec4 input_strides = strides_at(INPUT_STRIDES);
    const uvec4 output_strides = strides_at(OUTPUT_STRIDES);
    const uvec4 step = coordinate_of(LOCAL_SIZE, matrices, matrices.width);
    uvec4 at = coordinate_of(run.first, matrices, matrices.width);
    for (uint turn = 0u; turn < run.count; ++turn) {
        uvec2 pattern = uvec2(matrices.value_low, matrices.value_high);
        if (!in_band(matrices.height, at[2], at[3], push.band_begin, push.band_length)) {
            pattern = load(push.input_word, push.input_start + offset_of(at, input_strides));
        }
        const uint element = matrices.start + offset_of(at, output_strides);
        store(push.base_word, element, pattern.x, pattern.y);
        at = advance(at, step, matrices, matrices.width);
    }
}
