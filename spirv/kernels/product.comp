// A skeleton, of which nothing is linked: sums of products. Each invocation has a tile of sums, ROWS rows
// of eight columns, and adds one product after the other to each of them. A row is an element of the
// first input at each depth, a column one of the second. Sums may go on from what the output has.
//
// Compiled for ROWS 1, 8 or 16; several rows are read as quads. With WHOLE so are the columns. With INTEGER
// all are integers, else floats.
#version 450
#extension GL_GOOGLE_include_directive : require
#ifdef BYTES
#extension GL_EXT_integer_dot_product : require
#endif
#if ROWS == 16
#extension GL_ARB_gpu_shader_int64 : require
#endif

#include "include/dispatch.glsl"
#include "include/divide.glsl"
#include "include/operands.glsl"

#define COLUMN_QUADS 2
#include "include/products.glsl"

const uint COLUMNS = 8u;

// Four numbers from a multiple of four on. Lavapipe reads each word for itself, one invocation after the other;
// where there are many rows, words are read in pairs.
#if ROWS == 16
#define QUADS(K)                                                                                \
    layout(set = 0, binding = K, std430) buffer Pairs_##K { u64vec2 pairs_##K[]; };             \
    NUMBERS quad_##K(const uint at) {                                                            \
        const u64vec2 pairs = pairs_##K[(base_word(K) + at) >> 2];                               \
        return FROM_BITS(uvec4(unpackUint2x32(pairs.x), unpackUint2x32(pairs.y)));               \
    }
#else
#define QUADS(K) NUMBERS quad_##K(const uint at) { return FROM_BITS(read4_##K(at >> 2)); }
#endif
QUADS(0)
QUADS(1)

#ifdef BYTES
// The sums of bytes of quads of rows, in variables of their own.
#if ROWS == 8
#define TOTALS(DO) DO(first) DO(second)
#else
#define TOTALS(DO) DO(first)
#endif
#define DECLARE_TOTAL(QUAD) uvec4 QUAD##_total = uvec4(0u);
#define ADD_TOTAL(QUAD) QUAD##_total += total_of_rows(QUAD);
#define LIST_TOTAL(QUAD) QUAD##_total,
#endif

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
#if ROWS == 16
    const uint third_rows = min(row + 8u, last) - row;
    const uint fourth_rows = min(row + 12u, last) - row;
#endif
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
    uvec4 sums[SUMS];
    EACH_ROW(DECLARE)
    if (varying_bound(record.counts.z, index) != 0u) {
        for (uint r = 0u; r < rows_left; ++r) {
            for (uint c = 0u; c < columns_left; ++c) {
                sums[sum_at(r, c >> 2)][c & 3u] =
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
#ifdef BYTES
    TOTALS(DECLARE_TOTAL)
    uvec4 low_total = uvec4(0u);
    uvec4 high_total = uvec4(0u);
#endif
    for (uint product = 0u; product < products; ++product) {
#if WHOLE
        const NUMBERS low_columns = quad_1(low_place + at.y);
        const NUMBERS high_columns = quad_1(high_place + at.y);
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
#ifdef BYTES
        const NUMBERS first = NUMBERS(factor, 0u, 0u, 0u);
#endif
#else
        const NUMBERS first = quad_0(at.x);
        const NUMBERS second = quad_0(at.x + next_rows);
        ADD_QUAD(0, 1, 2, 3, first)
        ADD_QUAD(4, 5, 6, 7, second)
#if ROWS == 16
        const NUMBERS third = quad_0(at.x + third_rows);
        ADD_QUAD(8, 9, 10, 11, third)
        const NUMBERS fourth = quad_0(at.x + fourth_rows);
        ADD_QUAD(12, 13, 14, 15, fourth)
#endif
#endif
#ifdef BYTES
        TOTALS(ADD_TOTAL)
        low_total += product_of(ONES, low_columns);
        high_total += product_of(ONES, high_columns);
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
#ifdef BYTES
    const uvec4 row_totals[] = uvec4[](TOTALS(LIST_TOTAL) uvec4(0u));
    const uvec4 column_totals[] = uvec4[](low_total, high_total);
#endif
    for (uint r = 0u; r < rows_left; ++r) {
        for (uint c = 0u; c < columns_left; ++c) {
#ifdef BYTES
            const uvec2 totals = uvec2(row_totals[r >> 2][r & 3u], column_totals[c >> 2][c & 3u]);
            const uvec2 zeros = uvec2(zero_of_row(row + r), zero_of_column(column + c));
            sums[sum_at(r, c >> 2)][c & 3u] =
                without_zeros(sums[sum_at(r, c >> 2)][c & 3u], zeros, totals, 4u * products);
#endif
            write1(first_result + r * record.results.y + places[c].y,
                sums[sum_at(r, c >> 2)][c & 3u]);
        }
    }
}
