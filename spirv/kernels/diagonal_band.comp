// Writes a value to the elements of a tensor in a band of diagonals, and nothing else.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "include/band.glsl"
#include "include/dispatch.glsl"
#include "include/element.glsl"
#include "include/runs.glsl"
#include "include/matrices.glsl"

// Mirrored by twins/diagonal_band.rs. Strides are in elements: batches, rows, columns. Diagonals are
// counted as in band.glsl.
// Constraint: band_begin < band_end <= height + width - 1.
layout(push_constant, std430) uniform PushConstants {
    uint base_word;
    uint first_group;
    uint count;      // batches * height * columns, at least 1
    uint columns;    // the most elements that a row has in the band, at most width
    Matrices matrices;
    uint strides[4];
    uint band_begin; // the first diagonal
    uint band_end;   // the one after the last
} push;

// Writes the element at a column of the row's part of the band, where that has so many.
void store_in_row(uvec4 at, Matrices matrices, uvec4 strides) {
    // From x = first up to x = end; it is empty where the band passes the row on either side.
    const uint diagonal = row_diagonal(matrices.height, at[2]);
    const uint first = max(push.band_begin, diagonal) - diagonal;
    const uint end = min(max(push.band_end, diagonal) - diagonal, matrices.width);
    if (first >= end || at[3] >= end - first) {
        return;
    }
    at[3] += first;
    const uint element = matrices.start + offset_of(at, strides);
    store(push.base_word, element, matrices.value_low, matrices.value_high);
}

void main() {
    Run run;
    if (!run_of(push.first_group, push.count, run)) {
        return;
    }
    const Matrices matrices = push.matrices;
    const uvec4 strides =
        uvec4(push.strides[0], push.strides[1], push.strides[2], push.strides[3]);
    const uvec4 step = coordinate_of(LOCAL_SIZE, matrices, push.columns);
    uvec4 at = coordinate_of(run.first, matrices, push.columns);
    for (uint turn = 0u; turn < run.count; ++turn) {
        store_in_row(at, matrices, strides);
        at = advance(at, step, matrices, push.columns);
    }
}
