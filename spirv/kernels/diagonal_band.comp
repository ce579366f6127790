// Writes a value to the elements of a tensor in a band of diagonals, and nothing else.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "include/band.glsl"
#include "include/dispatch.glsl"
#include "include/element.glsl"

// Mirrored by twins/diagonal_band.rs. Strides are in elements, diagonals counted as in band.glsl.
// Constraint: band_begin < band_end <= height + width - 1.
layout(push_constant, std430) uniform PushConstants {
    uint base_word;
    uint first_group;
    uint count;      // batches * height * columns, at least 1
    uint columns;    // the most elements that a row has in the band, at most width
    uint size1;      // of the inner batch dimension
    uint height;
    uint width;
    uint stride0;
    uint stride1;
    uint stride2;    // of rows
    uint stride3;    // of columns
    uint band_begin; // the first diagonal
    uint band_end;   // the one after the last
    uint value_low;
    uint value_high;
} push;

void main() {
    uint index;
    if (!linear_index(push.first_group, push.count, index)) {
        return;
    }
    const uint column = index % push.columns;
    const uint row = index / push.columns;
    const uint y = row % push.height;
    const uint batch = row / push.height;

    // The row's part of the band, from x = first up to x = end; it is empty where the band passes
    // the row on either side.
    const uint diagonal = row_diagonal(push.height, y);
    const uint first = max(push.band_begin, diagonal) - diagonal;
    const uint end = min(max(push.band_end, diagonal) - diagonal, push.width);
    if (first >= end || column >= end - first) {
        return;
    }
    const uint element = batch / push.size1 * push.stride0
        + batch % push.size1 * push.stride1
        + y * push.stride2
        + (first + column) * push.stride3;
    store(push.base_word, element, push.value_low, push.value_high);
}
