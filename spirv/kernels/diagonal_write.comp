// Writes every element of a tensor, the value on the diagonals and zero elsewhere, and no byte
// between the elements of a strided tensor.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "include/dispatch.glsl"
#include "include/element.glsl"

// Mirrored by twins/diagonal_write.rs. Strides are in elements.
// Constraint: row_begin + diagonal_length <= height, column_begin + diagonal_length <= width.
layout(push_constant, std430) uniform PushConstants {
    uint base_word;
    uint first_group;
    uint count;           // of all elements, at least 1
    uint size1;           // of the inner batch dimension
    uint height;
    uint width;
    uint stride0;
    uint stride1;
    uint stride2;         // of rows
    uint stride3;         // of columns
    uint row_begin;       // where the diagonal starts
    uint column_begin;
    uint diagonal_length; // 0 where no element is on the diagonal
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

    // Before the diagonal's first row or column a difference wraps to at least 2^32 - row_begin or
    // 2^32 - column_begin, and by the constraint `diagonal_length` is less than both.
    const uint along = y - push.row_begin;
    const bool on_diagonal = along < push.diagonal_length && x - push.column_begin == along;
    const uint low = on_diagonal ? push.value_low : 0u;
    const uint high = on_diagonal ? push.value_high : 0u;
    store(push.base_word, element, low, high);
}
