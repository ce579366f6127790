// A skeleton: joins each element of a row with all before it, in memory that a work group shares. After the first
// pass all have been joined with the one before, then with two, four and so on.
//
// A work group has parts of several lanes: of rows, or of the columns that lie between the elements of a row. A part of
// a long row begins so many elements before those that are written as distances add up to. PAIRS states are two words,
// of which the second one is read where RESTS says so, and else 0; WIDE ones are numbers of 64 bits.
#version 450
#extension GL_GOOGLE_include_directive : require

#define LOCAL_SIZE_LITERAL 128

#include "include/dispatch.glsl"
#include "include/divide.glsl"
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

// Mirrored by src/scan/record.rs. Of what an index is divided by there are the size and the divisor.
layout(set = 0, binding = 8, std140) uniform Record {
    uvec4 splits[2];  // blocks of lanes, parts of a row
    uvec4 row;        // elements of a row, elements of a lane, from one of these to the next, lanes
    uvec4 lanes;      // from a lane to the next: other rows, other columns; bits of lanes, the lowest one
    uvec4 part;       // from a part to the next, elements before it, the bits of its elements, the lowest one
    uvec4 starts;     // first element of the input, of its second words, of the output's, of the output
    uvec4 distances;  // all are below the first
} record;

// Elements of a work group, and of an invocation in quads.
const uint ELEMENTS = 2048u;
const uint QUADS = ELEMENTS / 4u / uint(LOCAL_SIZE_LITERAL);

// Words of states.
shared uint shared_low[ELEMENTS];
#if PAIRS || WIDE
shared uint shared_high[ELEMENTS];
#endif

// A register of a state, as a value.
uvec4 held(inout uvec4 state) {
    return state;
}

// Replaces the bits of the mask.
void keep(inout uvec4 state, const uvec4 value, const uvec4 mask) {
    state = (value & mask) | (state & ~mask);
}

// The linker replaces the body: joins states with those before them where masks say so.
void linked_join(const uvec4 before_a, const uvec4 before_b, const uvec4 mask_a, const uvec4 mask_b,
    inout uvec4 a, inout uvec4 b) {
    keep(a, held(b) + before_a, mask_a);
    keep(b, held(a) + before_b, mask_b);
}

void join(const uvec4 before_low, const uvec4 before_high, const uvec4 mask, inout uvec4 low, inout uvec4 high) {
#if WIDE
    uvec4 a = uvec4(low.x, high.x, low.y, high.y);
    uvec4 b = uvec4(low.z, high.z, low.w, high.w);
    linked_join(uvec4(before_low.x, before_high.x, before_low.y, before_high.y),
        uvec4(before_low.z, before_high.z, before_low.w, before_high.w), mask.xxyy, mask.zzww, a, b);
    low = uvec4(a.xz, b.xz);
    high = uvec4(a.yw, b.yw);
#else
    linked_join(before_low, before_high, mask, mask, low, high);
#endif
}

uint split(const uint by, inout uint index) {
    const uvec4 size = record.splits[by];
    const uint quotient = divide(index, size.y, size.z);
    const uint rest = index - quotient * size.x;
    index = quotient;
    return rest;
}

// The place of an element in the work group: neighbours are other invocations'.
uint place_of(const uint quad, const uint lane) {
    return (4u * quad + lane) * uint(LOCAL_SIZE_LITERAL) + gl_LocalInvocationIndex;
}

uint bits_of(const uint place, const uint count, const uint lowest) {
    return place >> lowest & (1u << count) - 1u;
}

// The element of a place among those of its part, with those before it.
uint in_part(const uint place) {
    return bits_of(place, record.part.z, record.part.w);
}

// Where a place's element is in memory; false where there is none. `first` is the part's first element in its lane,
// which wraps below 0.
bool is_element(const uint place, const uint row, const uint first_lane, const uint first, out uint element) {
    const uint lane = first_lane + bits_of(place, record.lanes.z, record.lanes.w);
    const uint at = first + in_part(place);
    const uint in_row = at * record.row.z + lane * record.lanes.y;
    element = row * record.row.x + lane * record.lanes.x + in_row;
    const bool is_of_group = place >> (record.part.z + record.lanes.z) == 0u;
    return is_of_group && at < record.row.y && lane < record.row.w && in_row < record.row.x;
}

uvec2 read_state(const uint element) {
#if WIDE
    return read2_0(record.starts.x + element);
#elif PAIRS && RESTS
    return uvec2(read1_0(record.starts.x + element), read1_1(record.starts.y + element));
#else
    return uvec2(read1_0(record.starts.x + element), 0u);
#endif
}

void write_state(const uint element, const uvec2 state) {
#if WIDE
    write2(record.starts.w + element, state);
#else
    write1(record.starts.w + element, state.x);
#endif
#if PAIRS
    words1_6[base_word(6u) + record.starts.z + element] = state.y;
#endif
}

void main() {
    const uint group = linear_group(push.first_group);
    if (group >= push.count) {
        return;
    }
    uint row = group;
    const uint first_lane = split(0u, row) << record.lanes.z;
    const uint first = split(1u, row) * record.part.x - record.part.y;

    uvec4 low[QUADS];
    uvec4 high[QUADS];
    for (uint quad = 0u; quad < QUADS; ++quad) {
        for (uint lane = 0u; lane < 4u; ++lane) {
            uint element;
            uvec2 state = uvec2(0u);
            if (is_element(place_of(quad, lane), row, first_lane, first, element)) {
                state = read_state(element);
            }
            low[quad][lane] = state.x;
            high[quad][lane] = state.y;
        }
    }

    const uint end = varying_bound(record.distances.x, group);
    for (uint distance = 1u; distance < end; distance <<= 1) {
        for (uint quad = 0u; quad < QUADS; ++quad) {
            for (uint lane = 0u; lane < 4u; ++lane) {
                shared_low[place_of(quad, lane)] = low[quad][lane];
#if PAIRS || WIDE
                shared_high[place_of(quad, lane)] = high[quad][lane];
#endif
            }
        }
        barrier();
        for (uint quad = 0u; quad < QUADS; ++quad) {
            uvec4 before_low;
            uvec4 before_high = uvec4(0u);
            uvec4 mask;
            for (uint lane = 0u; lane < 4u; ++lane) {
                const uint place = place_of(quad, lane);
                const uint at = in_part(place);
                // A part may begin before the row; what is there is joined to nothing that is.
                const bool is_joined = at >= distance && first + at >= distance;
                const uint before = is_joined ? place - (distance << record.part.w) : place;
                mask[lane] = is_joined ? ~0u : 0u;
                before_low[lane] = shared_low[before];
#if PAIRS || WIDE
                before_high[lane] = shared_high[before];
#endif
            }
            join(before_low, before_high, mask, low[quad], high[quad]);
        }
        barrier();
    }

    for (uint quad = 0u; quad < QUADS; ++quad) {
        for (uint lane = 0u; lane < 4u; ++lane) {
            const uint place = place_of(quad, lane);
            uint element;
            const bool is_written = in_part(place) >= record.part.y;
            if (is_written && is_element(place, row, first_lane, first, element)) {
                write_state(element, uvec2(low[quad][lane], high[quad][lane]));
            }
        }
    }
}
