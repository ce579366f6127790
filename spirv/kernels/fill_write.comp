// Writes one value to every element of a tensor, and no byte between the elements of a strided one.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "include/dispatch.glsl"
#include "include/element.glsl"

// Eight sizes, then eight strides in elements, outermost dimension first; unused dimensions have
// size 1. They do not fit the push constants.
layout(set = 0, binding = 1, std430) readonly buffer Constants {
    uint constants[];
};

// Mirrored by twins/fill_write.rs.
layout(push_constant, std430) uniform PushConstants {
    uint base_word;
    uint constants_word; // of the first size
    uint first_group;
    uint count;          // of all elements, at least 1
    uint value_low;
    uint value_high;
} push;

const uint DIMENSIONS = 8u;

void main() {
    uint remaining;
    if (!linear_index(push.first_group, push.count, remaining)) {
        return;
    }
    uint element = 0u;
    for (uint inner = 0u; inner < DIMENSIONS; ++inner) {
        const uint at = push.constants_word + DIMENSIONS - 1u - inner;
        const uint size = constants[at];
        element += remaining % size * constants[at + DIMENSIONS];
        remaining /= size;
    }
    store(push.base_word, element, push.value_low, push.value_high);
}
