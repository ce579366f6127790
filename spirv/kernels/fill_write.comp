// Writes one value to every element of a tensor, and no byte between the elements of a strided one.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "include/dispatch.glsl"
#include "include/element.glsl"
#include "include/runs.glsl"

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

// In each dimension, as push.sizes.
void coordinate_of(uint index, out uint at[DIMENSIONS]) {
    for (int dimension = int(DIMENSIONS) - 1; dimension >= 0; --dimension) {
        at[dimension] = index % push.sizes[dimension];
        index /= push.sizes[dimension];
    }
}

// Goes `step` elements on. Without a loop the coordinate stays in registers.
void advance(inout uint at[DIMENSIONS], uint step[DIMENSIONS]) {
    uint carry = 0u;
    add_with_carry(push.sizes[7], step[7], at[7], carry);
    add_with_carry(push.sizes[6], step[6], at[6], carry);
    add_with_carry(push.sizes[5], step[5], at[5], carry);
    add_with_carry(push.sizes[4], step[4], at[4], carry);
    add_with_carry(push.sizes[3], step[3], at[3], carry);
    add_with_carry(push.sizes[2], step[2], at[2], carry);
    add_with_carry(push.sizes[1], step[1], at[1], carry);
    at[0] += step[0] + carry;
}

void main() {
    Run run;
    if (!run_of(push.first_group, push.count, run)) {
        return;
    }
    uint strides[DIMENSIONS];
    for (uint dimension = 0u; dimension < DIMENSIONS; ++dimension) {
        strides[dimension] = constants[push.constants_word + dimension];
    }
    uint step[DIMENSIONS];
    coordinate_of(LOCAL_SIZE, step);
    uint at[DIMENSIONS];
    coordinate_of(run.first, at);
    for (uint turn = 0u; turn < run.count; ++turn) {
        uint element = push.start;
        for (uint dimension = 0u; dimension < DIMENSIONS; ++dimension) {
            element += at[dimension] * strides[dimension];
        }
        store(push.base_word, element, push.value_low, push.value_high);
        advance(at, step);
    }
}
