// A skeleton, of which nothing is linked: sums of products. Each invocation has a tile of sums, ROWS rows
// of eight columns, and adds one product after the other to each of them. A row is an element of the
// first input at each depth, a column one of the second. Sums may go on from what the output has.
//
// Compiled for ROWS 1 or 8; eight rows are read as two quads. With WHOLE so are the columns. With INTEGER
// all are integers, else floats.
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

// Mirrored by src/product/record.rs. Of what an index is divided by there are the size and the divisor.
layout(set = 0, binding = 8, std140) uniform Record {
    uvec4 counts;           // rows, columns, whether sums go on
    uvec4 splits[6];        // tiles of columns, tiles of rows, inner batches, inner columns
    uvec4 depths;           // sizes, outermost first
    uvec4 rows;             // first element, stride of rows and of batches
    uvec4 rows_depths;
    uvec4 columns;          // first element, nothing, strides of batches
    uvec4 columns_columns;
    uvec4 columns_depths;
    uvec4 results;          // first element, stride of rows and of batches
    uvec4 results_columns;
} record;

const uint COLUMNS = 8u;

#if INTEGER
#define NUMBERS uvec4
#define NUMBER uint
#define FROM_BITS(bits) (bits)
#define TO_BITS(numbers) (numbers)
#else
#define NUMBERS vec4
#define NUMBER float
#define FROM_BITS(bits) uintBitsToFloat(bits)
#define TO_BITS(numbers) floatBitsToUint(numbers)
#endif

uint split(const uint by, inout uint index) {
    const uvec4 size = record.splits[by];
    const uint quotient = divide(index, size.y, size.z);
    const uint rest = index - quotient * size.x;
    index = quotient;
    return rest;
}

uint total(const uvec4 parts) {
    return parts.x + parts.y + parts.z + parts.w;
}

// Where a column is in the second input, and in the output.
uvec2 place_of(const uint column) {
    uint rest = min(column, record.counts.y - 1u);
    uvec4 at;
    at.w = split(5u, rest);
    at.z = split(4u, rest);
    at.y = split(3u, rest);
    at.x = rest;
    return uvec2(total(at * record.columns_columns), total(at * record.results_columns));
}

uint written(const uint at) {
    return words1_7[base_word(OUTPUT) + at];
}

#if ROWS == 1
#define EACH_ROW(DO) DO(0)
#else
#define EACH_ROW(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)
#endif

#define DECLARE(I) NUMBERS low##I = NUMBERS(0); NUMBERS high##I = NUMBERS(0);
#define RESUME(I)                    \
    low##I = FROM_BITS(sums[2 * I]); \
    high##I = FROM_BITS(sums[2 * I + 1]);
#define ADD(I, FACTOR)               \
    low##I += FACTOR * low_columns;  \
    high##I += FACTOR * high_columns;
#define KEEP(I)                    \
    sums[2 * I] = TO_BITS(low##I); \
    sums[2 * I + 1] = TO_BITS(high##I);

void main() {
    uint index;
    if (!linear_index(push.first_group, push.count, index)) {
        return;
    }
    uint rest = index;
    const uint column = split(0u, rest) * COLUMNS;
    const uint row = split(1u, rest) * uint(ROWS);
    const uint inner_batch = split(2u, rest);
    // Loops where nothing is gained without: SwiftShader's compiler takes more than linear time.
    uvec2 places[COLUMNS];
    for (uint at = 0u; at < COLUMNS; ++at) {
        places[at] = place_of(column + at);
    }
    const uint result = record.results.x + rest * record.results.z + inner_batch * record.results.w;

    uint at_rows = record.rows.x + rest * record.rows.z + inner_batch * record.rows.w;
#if ROWS == 1
    at_rows += row * record.rows.y;
#else
    // Past the last rows there may be none to read.
    const uint last = (record.counts.x - 1u) & ~3u;
    at_rows += row;
    const uint next_rows = min(row + 4u, last) - row;
#endif
    const uint at_columns =
        record.columns.x + rest * record.columns.z + inner_batch * record.columns.w;
#if WHOLE
    // The place of a quad's first column is that of the last one where it has none.
    const bool has_high = record.counts.y - column > 4u;
    const uint low_place = at_columns + places[0].x;
    const uint high_place = at_columns + (has_high ? places[4].x : places[0].x);
#else
    const uvec4 low_places =
        at_columns + uvec4(places[0].x, places[1].x, places[2].x, places[3].x);
    const uvec4 high_places =
        at_columns + uvec4(places[4].x, places[5].x, places[6].x, places[7].x);
#endif

    const uint rows_left = min(record.counts.x - row, uint(ROWS));
    const uint columns_left = min(record.counts.y - column, COLUMNS);
    const uint first_result = result + row * record.results.y;
    uvec4 sums[2 * ROWS];
    EACH_ROW(DECLARE)
    if (varying_bound(record.counts.z, index) != 0u) {
        for (uint r = 0u; r < rows_left; ++r) {
            for (uint c = 0u; c < columns_left; ++c) {
                sums[2u * r + (c >> 2)][c & 3u] =
                    written(first_result + r * record.results.y + places[c].y);
            }
        }
        EACH_ROW(RESUME)
    }
    // One loop for all depths: where one ends, the one further out goes on.
    const uvec4 sizes = record.depths;
    const uvec4 of_rows = record.rows_depths;
    const uvec4 of_columns = record.columns_depths;
    const uvec2 step = uvec2(of_rows.w, of_columns.w);
    const uvec2 carry2 = uvec2(of_rows.z, of_columns.z) - sizes.w * step;
    const uvec2 carry1 =
        uvec2(of_rows.y, of_columns.y) - sizes.z * uvec2(of_rows.z, of_columns.z);
    const uvec2 carry0 =
        uvec2(of_rows.x, of_columns.x) - sizes.y * uvec2(of_rows.y, of_columns.y);
    const uint products = varying_bound(sizes.x * sizes.y * sizes.z * sizes.w, index);
    uvec3 depth = uvec3(0u);
    uvec2 at = uvec2(at_rows, 0u);
    for (uint product = 0u; product < products; ++product) {
#if WHOLE
        const NUMBERS low_columns = FROM_BITS(read4_1(low_place + at.y >> 2));
        const NUMBERS high_columns = FROM_BITS(read4_1(high_place + at.y >> 2));
#else
        const uvec4 low_at = low_places + at.y;
        const uvec4 high_at = high_places + at.y;
        const NUMBERS low_columns = FROM_BITS(uvec4(
            read1_1(low_at.x), read1_1(low_at.y), read1_1(low_at.z), read1_1(low_at.w)));
        const NUMBERS high_columns = FROM_BITS(uvec4(
            read1_1(high_at.x), read1_1(high_at.y), read1_1(high_at.z), read1_1(high_at.w)));
#endif
#if ROWS == 1
        const NUMBER factor = FROM_BITS(read1_0(at.x));
        ADD(0, factor)
#else
        const NUMBERS first = FROM_BITS(read4_0(at.x >> 2));
        const NUMBERS second = FROM_BITS(read4_0(at.x + next_rows >> 2));
        ADD(0, first.x)
        ADD(1, first.y)
        ADD(2, first.z)
        ADD(3, first.w)
        ADD(4, second.x)
        ADD(5, second.y)
        ADD(6, second.z)
        ADD(7, second.w)
#endif
        const uint ends2 = uint(++depth.z == sizes.w);
        depth.z -= ends2 * sizes.w;
        depth.y += ends2;
        const uint ends1 = uint(depth.y == sizes.z);
        depth.y -= ends1 * sizes.z;
        depth.x += ends1;
        const uint ends0 = uint(depth.x == sizes.y);
        depth.x -= ends0 * sizes.y;
        at += step + ends2 * carry2 + ends1 * carry1 + ends0 * carry0;
    }
    EACH_ROW(KEEP)
    for (uint r = 0u; r < rows_left; ++r) {
        for (uint c = 0u; c < columns_left; ++c) {
            write1(first_result + r * record.results.y + places[c].y,
                sums[2u * r + (c >> 2)][c & 3u]);
        }
    }
}
