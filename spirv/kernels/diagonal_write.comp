// Writes every element of a tensor, the value in a band of diagonals and zero elsewhere, and no byte
// between the elements of a strided tensor.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "include/band.glsl"
#include "include/dispatch.glsl"
#include "include/element.glsl"
#include "include/runs.glsl"
#include "include/matrices.glsl"

// Mirrored by twins/diagonal_write.rs. Strides are in elements: batches, rows, columns.
layout(push_constant, std430) uniform PushConstants {
    uint base_word;
    uint first_group;
    uint count;       // of all elements, at least 1
    Matrices matrices;
    uint strides[4];
    uint band_begin;  // as in_band takes it
    uint band_length; // 0 where no element gets the value
} push;

void main() {
    Run run;
    if (!run_of(push.first_group, push.count, run)) {
        return;
    }
    const Matrices matrices = push.matrices;
    const uvec4 strides =
        uvec4(push.strides[0], push.strides[1], push.strides[2], push.strides[3]);
    const uvec4 step = coordinate_of(LOCAL_SIZE, matrices, matrices.width);
    uvec4 at = coordinate_of(run.first, matrices, matrices.width);
    for (uint turn = 0u; turn < run.count; ++turn) {
        const bool inside =
            in_band(matrices.height, at[2], at[3], push.band_begin, push.band_length);
        const uint low = inside ? matrices.value_low : 0u;
        const uint high = inside ? matrices.value_high : 0u;
        store(push.base_word, matrices.start + offset_of(at, strides), low, high);
        at = advance(at, step, matrices, matrices.width);
    }
}
