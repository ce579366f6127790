// Writes every element of a tensor, the value in a band of diagonals and zero elsewhere, and no byte
// between the elements of a strided tensor.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "include/band.glsl"
#include "include/dispatch.glsl"
#include "include/element.glsl"

// Mirrored by twins/diagonal_write.rs. Strides are in elements.
layout(push_constant, std430) uniform PushConstants {
    uint base_word;
    uint first_group;
    uint count;       // of all elements, at least 1
    uint size1;       // of the inner batch dimension
    uint height;
    uint width;
    uint stride0;
    uint stride1;
    uint stride2;     // of rows
    uint stride3;     // of columns
    uint band_begin;  // as in_band takes it
    uint band_length; // 0 where no element gets the value
    uint value_low;
    uint value_high;
} push;

void main() {
    uint index;
    if (!linear_index(push.first_group, push.count, index)) {
        return;
    }
    const uint x = index % push.width;
    const uint row = index / push.width;
    const uint y = row % push.height;
    const uint batch = row / push.height;
    const uint element = batch / push.size1 * push.stride0
        + batch % push.size1 * push.stride1
        + y * push.stride2
        + x * push.stride3;

    const bool inside = in_band(push.height, y, x, push.band_begin, push.band_length);
    const uint low = inside ? push.value_low : 0u;
    const uint high = inside ? push.value_high : 0u;
    store(push.base_word, element, low, high);
}
