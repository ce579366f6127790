// A skeleton, of which nothing is linked: sorts blocks of numbers of 64 bits by a bitonic network in memory that a work
// group shares, and keeps the least ones of them.
//
// Blocks have 2^n numbers, and so have rows, which follow each other without gaps. Even blocks of a row are sorted
// upwards, odd ones downwards.
#version 450
#extension GL_GOOGLE_include_directive : require

#define LOCAL_SIZE_LITERAL 128

#include "include/dispatch.glsl"
#include "include/operands.glsl"

// Mirrored by src/element_wise/push.rs.
layout(push_constant, std430) uniform PushConstants {
    uint base_words[OPERANDS];  // where the window of each operand starts in its descriptor
    uint first_group;
    uint count;                 // work groups, at least 1
} push;

uint base_word(const uint operand) {
    return push.base_words[operand];
}

#include "include/accessors.glsl"

// Mirrored by src/sort.rs.
layout(set = 0, binding = 8, std140) uniform Record {
    uvec4 numbers;  // all numbers, the n of a row, and of the first and the last blocks that are made
    uvec4 places;   // how often two blocks become one, first number of the input and of the output
} record;

// Numbers of a work group: 2^11.
const uint NUMBER_BITS = 11u;
const uint NUMBERS = 1u << NUMBER_BITS;
const uint STEP = uint(LOCAL_SIZE_LITERAL);
const uint HALF_OF_INVOCATION = NUMBERS / 2u / STEP;

shared uint shared_low[NUMBERS];
shared uint shared_high[NUMBERS];

uvec2 number_at(const uint at) {
    return uvec2(shared_low[at], shared_high[at]);
}

void put(const uint at, const uvec2 number) {
    shared_low[at] = number.x;
    shared_high[at] = number.y;
}

bool is_less(const uvec2 a, const uvec2 b) {
    return a.y < b.y || (a.y == b.y && a.x < b.x);
}

// The first of two numbers that are so far apart, 2^part, of those of all pairs.
uint first_of_pair(const uint pair, const uint part) {
    return pair >> part << (part + 1u) | pair & (1u << part) - 1u;
}

// Sorts blocks of 2^block numbers, the halves of which are sorted in opposite directions, or what is left of that
// after numbers that are further apart than the work group has been compared. `first` is the number of the first one.
void merge(const uint block, const uint length, const uint first, const uint count) {
    for (uint part = min(block, NUMBER_BITS); part-- > 0u;) {
        for (uint pair = gl_LocalInvocationIndex; pair < count / 2u; pair += STEP) {
            const uint at = first_of_pair(pair, part);
            const uint other = at + (1u << part);
            const uvec2 one = number_at(at);
            const uvec2 two = number_at(other);
            const bool descends = block < length && (first + at >> block & 1u) != 0u;
            if (descends ? is_less(one, two) : is_less(two, one)) {
                put(at, two);
                put(other, one);
            }
        }
        barrier();
    }
}

// Keeps the lesser numbers of two blocks.
void halve(const uint block, const uint count) {
    uvec2 least[HALF_OF_INVOCATION];
    for (uint turn = 0u; turn < HALF_OF_INVOCATION; ++turn) {
        const uint pair = turn * STEP + gl_LocalInvocationIndex;
        if (pair < count / 2u) {
            const uint at = first_of_pair(pair, block);
            const uvec2 one = number_at(at);
            const uvec2 two = number_at(at + (1u << block));
            least[turn] = is_less(two, one) ? two : one;
        }
    }
    barrier();
    for (uint turn = 0u; turn < HALF_OF_INVOCATION; ++turn) {
        const uint pair = turn * STEP + gl_LocalInvocationIndex;
        if (pair < count / 2u) {
            put(pair, least[turn]);
        }
    }
    barrier();
}

void main() {
    const uint group = linear_group(push.first_group);
    if (group >= push.count) {
        return;
    }
    const uint all = record.numbers.x;
    const uint first = group * NUMBERS;
    for (uint at = gl_LocalInvocationIndex; at < NUMBERS; at += STEP) {
        const bool is_number = at < all - first;
        put(at, is_number ? read2_0(record.places.y + first + at) : uvec2(~0u));
    }
    barrier();

    uint length = record.numbers.y;
    const uint last_block = varying_bound(record.numbers.w, group);
    for (uint block = record.numbers.z; block <= last_block; ++block) {
        merge(block, length, first, NUMBERS);
    }
    const uint halvings = varying_bound(record.places.x, group);
    uint count = NUMBERS;
    for (uint turn = 0u; turn < halvings; ++turn) {
        halve(last_block, count);
        count /= 2u;
        length -= 1u;
        merge(last_block, length, group * count, count);
    }

    const uint first_left = group * count;
    const uint all_left = all >> halvings;
    for (uint at = gl_LocalInvocationIndex; at < count; at += STEP) {
        if (at < all_left - first_left) {
            write2(record.places.z + first_left + at, number_at(at));
        }
    }
}
