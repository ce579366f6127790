// Writes a value along the diagonals of a tensor that was filled with zeros.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "include/dispatch.glsl"
#include "include/element.glsl"

// Mirrored by twins/diagonal_scatter.rs. Strides and `start` are in elements.
layout(push_constant, std430) uniform PushConstants {
    uint base_word;
    uint first_group;
    uint count;           // batches * diagonal_length, at least 1
    uint diagonal_length; // at least 1
    uint size1;           // of the inner batch dimension
    uint stride0;
    uint stride1;
    uint diagonal_stride; // row stride + column stride
    uint start;           // the first diagonal's first element, from the window's first word
    uint value_low;
    uint value_high;
} push;

void main() {
    uint index;
    if (!linear_index(push.first_group, push.count, index)) {
        return;
    }
    const uint batch = index / push.diagonal_length;
    const uint along = index % push.diagonal_length;
    const uint element = push.start
        + batch / push.size1 * push.stride0
        + batch % push.size1 * push.stride1
        + along * push.diagonal_stride;
    store_on_zero(push.base_word, element, push.value_low, push.value_high);
}
