// How states are joined, whoever has them: lanes, and the functions that are linked for a reducer.

#include "include/quads.glsl"

// Of two quads of lanes the ones that are joined with their right neighbours, and these.
uvec4 left_lanes(const uvec4 one, const uvec4 other) {
    return uvec4(one.xz, other.xz);
}

uvec4 right_lanes(const uvec4 one, const uvec4 other) {
    return uvec4(one.yw, other.yw);
}

// The second half of a register.
uvec4 upper_half(const uvec4 value) {
    return value.zwzw;
}

// The linker replaces the bodies of these by calls of functions that it links and of those that are named
// here: the state before a row.
void linked_start(inout uvec4 a, inout uvec4 b) {
    set(a, 0u, 0u);
    set(b, 0u, 0u);
}

// Joins a state with its right neighbour, lane by lane.
void linked_join(inout uvec4 a, inout uvec4 b, inout uvec4 c, inout uvec4 d) {
    hold(a, held(b) + held(c) + held(d), QUAD);
}

// Joins the lanes of two quads with their neighbours; where a register has two lanes, the quads lane by lane.
void linked_pairs(inout uvec4 a, inout uvec4 b, inout uvec4 c, inout uvec4 d) {
    hold(a, left_lanes(held(a), held(c)) + right_lanes(held(b), held(d)), QUAD);
}

// Joins the lanes of a quad: what they are is in the first one then.
void linked_lanes(inout uvec4 a, inout uvec4 b) {
    const uvec4 halves = left_lanes(held(a), held(b)) + right_lanes(held(a), held(b));
    hold(a, halves + upper_half(held(a)), QUAD);
}

// Sets how many elements a block has, and how many lanes.
void linked_length(inout uvec4 length, inout uvec4 b) {
    set(length, 0u, 0u);
}
