// Writes one value to every element of a tensor, and no byte between the elements of a strided one.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "include/dispatch.glsl"
#include "include/element.glsl"

const uint DIMENSIONS = 8u;

// Eight strides in elements, outermost dimension first. They do not fit the push constants.
layout(set = 0, binding = 1, std430) readonly buffer Constants {
    uint constants[];
};

// Mirrored by twins/fill_write.rs.
layout(push_constant, std430) uniform PushConstants {
    uint base_word;
    uint constants_word;    // of the first stride
    uint first_group;
    uint count;             // of all elements, at least 1
    uint start;             // the first element, counted from the window's first word
    uint sizes[DIMENSIONS]; // outermost dimension first; unused dimensions have size 1
    uint value_low;
    uint value_high;
} push;

void main() {
    uint remaining;
    if (!linear_index(push.first_group, push.count, remaining)) {
        return;
    }
    uint element = push.start;
    for (uint inner = 0u; inner < DIMENSIONS; ++inner) {
        const uint dimension = DIMENSIONS - 1u - inner;
        const uint size = push.sizes[dimension];
        element += remaining % size * constants[push.constants_word + dimension];
        remaining /= size;
    }
    store(push.base_word, element, push.value_low, push.value_high);
}
