// A skeleton, of which nothing is linked: copies elements of ELEMENT_BITS bits whose neighbours in the input are no
// neighbours in the output. A work group reads a tile of SIDE times SIDE elements along the one dimension into
// memory that it shares, and writes it along the other, so that consecutive invocations read and write consecutive
// units: words of elements narrower than a word, else elements.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "include/dispatch.glsl"
#include "include/divide.glsl"
#include "include/operands.glsl"

// Mirrored by src/element_wise/push.rs.
layout(push_constant, std430) uniform PushConstants {
    uint base_words[OPERANDS];  // where the window of each operand starts in its descriptor
    uint first_group;
    uint count;                 // tiles, at least 1
} push;

uint base_word(const uint operand) {
    return push.base_words[operand];
}

#include "include/accessors.glsl"

// Mirrored by src/transpose/record.rs. Strides are in units; a row of a tile is read along `x`, and written along `y`.
layout(set = 0, binding = 8, std140) uniform Record {
    uvec4 sizes;            // elements along x and along y
    uvec4 starts;           // first unit of the input and of the output
    uvec4 strides;          // of the input: units of x, elements of y; of the output: elements of x, units of y
    uvec4 splits[8];        // tiles along x and along y, outer dimensions from the innermost on: size and divisor
    uvec4 outer_strides[6]; // of the input and of the output
} record;

#if ELEMENT_BITS == 64
#define UNIT uvec2
#define READ(at) read2_0(at)
#define WRITE(at, unit) write2(at, unit)
#else
#define UNIT uint
#define READ(at) read1_0(at)
#define WRITE(at, unit) write1(at, unit)
#endif

#if ELEMENT_BITS < 32
const uint IN_UNIT = 32u / ELEMENT_BITS;
const uint SIDE = 64u;
#else
const uint IN_UNIT = 1u;
const uint SIDE = 32u;
#endif

const uint ROW = SIDE / IN_UNIT;
// One more than a row has: what is written together is in different banks.
const uint PITCH = ROW + 1u;

shared UNIT tile[SIDE * PITCH];

uint split(const uint by, inout uint index) {
    const uvec4 size = record.splits[by];
    const uint quotient = divide(index, size.y, size.z);
    const uint rest = index - quotient * size.x;
    index = quotient;
    return rest;
}

// Where the tile has a unit of a row. Rows of which one unit is made are SIDE / IN_UNIT rows apart, so that
// neighbouring units are made of neighbouring rows.
uint place(const uint y, const uint unit) {
    return (y % IN_UNIT * ROW + y / IN_UNIT) * PITCH + unit;
}

// The unit that is written of these elements along y, which are at one place along x.
UNIT gathered(const uint x, const uint unit) {
#if ELEMENT_BITS < 32
    const uint shift = x % IN_UNIT * ELEMENT_BITS;
    const uint mask = (1u << ELEMENT_BITS) - 1u;
    uint word = 0u;
    for (uint at = 0u; at < IN_UNIT; ++at) {
        const uint read = tile[place(unit * IN_UNIT + at, x / IN_UNIT)];
        word |= (read >> shift & mask) << at * ELEMENT_BITS;
    }
    return word;
#else
    return tile[place(unit, x)];
#endif
}

void main() {
    const uint group = linear_group(push.first_group);
    if (group >= push.count) {
        return;
    }
    uint rest = group;
    const uint first_x = split(0u, rest) * SIDE;
    const uint first_y = split(1u, rest) * SIDE;
    uvec2 start = record.starts.xy;
    for (uint outer = 0u; outer < 6u; ++outer) {
        start += split(2u + outer, rest) * record.outer_strides[outer].xy;
    }
    const uvec2 sizes = record.sizes.xy;
    const uvec4 strides = record.strides;

    // Past the last elements of a row or column there may be none to read.
    for (uint slot = gl_LocalInvocationIndex; slot < SIDE * ROW; slot += LOCAL_SIZE) {
        const uint unit = slot % ROW;
        const uint y = slot / ROW;
        if (first_x + unit * IN_UNIT < sizes.x && first_y + y < sizes.y) {
            const uint at = (first_x / IN_UNIT + unit) * strides.x + (first_y + y) * strides.y;
            tile[place(y, unit)] = READ(start.x + at);
        }
    }
    barrier();
    // Units along y are whole: narrow elements fill their words.
    for (uint slot = gl_LocalInvocationIndex; slot < SIDE * ROW; slot += LOCAL_SIZE) {
        const uint unit = slot % ROW;
        const uint x = slot / ROW;
        if (first_y + unit * IN_UNIT < sizes.y && first_x + x < sizes.x) {
            const uint at = (first_x + x) * strides.z + (first_y / IN_UNIT + unit) * strides.w;
            WRITE(start.y + at, gathered(x, unit));
        }
    }
}
