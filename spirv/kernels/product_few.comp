// A skeleton, of which nothing is linked: sums of products of few rows, with one dimension of columns and one of depths. A
// work group has 64 columns of at most 16 rows. Its invocations read what some depths need into memory that they share,
// neighbours by neighbouring invocations; then each adds these products to its own sums, those of a column and of a quad of
// rows, in the order of the depths.
//
// Sums may be added up in parts, and then these in their order. As many parts are added up at the same time as there are
// invocations for.
//
// Rows have any strides. With WHOLE columns are read as quads of columns, with DEEP as quads of depths, which parts begin
// with. With INTEGER all are integers, else floats.
#version 450
#extension GL_GOOGLE_include_directive : require

#define LOCAL_SIZE_LITERAL 256
#define ROWS 1
#define COLUMN_QUADS 1

#include "include/dispatch.glsl"
#include "include/divide.glsl"
#include "include/operands.glsl"
#include "include/products.glsl"

const uint QUAD = 4u;
const uint COLUMNS = 64u;
const uint MOST_ROWS = 16u;
// Quads of rows, in all parts that are added up at the same time.
const uint MOST_QUADS = MOST_ROWS / QUAD;
// Depths that are read at a time, of all these parts.
const uint DEPTHS = 32u;
// What an invocation reads of the columns each time: words, or with quads a quarter of that.
const uint READS = DEPTHS * COLUMNS / uint(LOCAL_SIZE_LITERAL);
// From a depth to the next: an odd number, so that invocations with neighbouring depths do not write to the same bank.
const uint SHARED_DEPTH = COLUMNS + 1u;

shared NUMBER shared_columns[DEPTHS * SHARED_DEPTH];
shared NUMBERS shared_rows[DEPTHS * MOST_QUADS];
shared NUMBERS sums_of_parts[LOCAL_SIZE_LITERAL];

void main() {
    const uint group = linear_group(push.first_group);
    if (group >= push.count) {
        return;
    }
    uint rest = group;
    const uint column = split(0u, rest) * COLUMNS;
    const uint row = split(1u, rest) * MOST_ROWS;
    const uint inner_batch = split(2u, rest);
    const uint at_rows = record.rows.x + rest * record.rows.z + inner_batch * record.rows.w + row * record.rows.y;
    const uint at_columns = record.columns.x + rest * record.columns.z + inner_batch * record.columns.w;
    const uint results = record.results.x + rest * record.results.z + inner_batch * record.results.w;
    const uint rows = min(record.counts.x - row, MOST_ROWS);
    const uint of_columns = record.columns_columns.w;
    const uint of_depths = record.columns_depths.w;

    const uint products = varying_bound(record.depths.w, group);
    // Products of a part.
    const uint length = min(record.counts.w, products);
    const uint parts = (products + length - 1u) / length;
    // Powers of two: quads of rows, parts at the same time, and what each of them has.
    const uint quads = rows > 2u * QUAD ? 4u : rows > QUAD ? 2u : 1u;
    const uint most_at_once = min(MOST_QUADS / quads, parts);
    const uint at_once = most_at_once > 3u ? 4u : most_at_once > 1u ? 2u : 1u;
    const uint helpers = uint(LOCAL_SIZE_LITERAL) / at_once;
    const uint depths_at_once = DEPTHS / at_once;

    const uint lane = gl_LocalInvocationIndex / helpers;
    const uint helper = gl_LocalInvocationIndex % helpers;
    const uint first_depth = lane * depths_at_once;
    const uint own_column = helper % COLUMNS;
    const uint own_quad = helper / COLUMNS;
    // Where own sums are, and how many there are.
    const uint own_result = results + (column + own_column) * record.results_columns.w
        + (row + QUAD * own_quad) * record.results.y;
    const bool has_sums = own_quad < quads && column + own_column < record.counts.y;
    const uint own_rows = has_sums ? min(rows - min(rows, QUAD * own_quad), QUAD) : 0u;
    const bool is_by_columns = of_columns == 1u;

    NUMBERS all = NUMBERS(0);
    for (uint first_part = 0u; first_part < parts; first_part += at_once) {
        const uint part = first_part + lane;
        const uint first = part * length;
        const uint count = part < parts ? min(length, products - first) : 0u;
        NUMBERS sums = NUMBERS(0);
        if (varying_bound(record.counts.z, group) != 0u) {
            uvec4 before = uvec4(0u);
            for (uint r = 0u; r < own_rows; ++r) {
                before[r] = written(own_result + r * record.results.y);
            }
            sums = FROM_BITS(before);
        }
        for (uint begin = 0u; begin < length; begin += depths_at_once) {
            const uint depths = min(count - min(count, begin), depths_at_once);
            // Past the last depth or column there may be none to read.
            if (depths > 0u) {
                const uint last = depths - 1u;
#if WHOLE
                for (uint at = 0u; at < READS / QUAD; ++at) {
                    const uint quad = helper + at * helpers;
                    const uint depth = quad / (COLUMNS / QUAD);
                    const uint from = QUAD * (quad % (COLUMNS / QUAD));
                    const uint place = min(column + from, record.counts.y - 1u & ~3u)
                        + (first + begin + min(depth, last)) * of_depths;
                    const NUMBERS numbers = FROM_BITS(read4_1(at_columns + place >> 2));
                    for (uint next = 0u; next < QUAD; ++next) {
                        shared_columns[(first_depth + depth) * SHARED_DEPTH + from + next] = numbers[next];
                    }
                }
#elif DEEP
                for (uint at = 0u; at < READS / QUAD; ++at) {
                    const uint quad = helper + at * helpers;
                    const uint depth = QUAD * (quad % (depths_at_once / QUAD));
                    const uint to = quad / (depths_at_once / QUAD);
                    const uint place = min(column + to, record.counts.y - 1u) * of_columns
                        + first + begin + min(depth, last & ~3u);
                    const NUMBERS numbers = FROM_BITS(read4_1(at_columns + place >> 2));
                    for (uint next = 0u; next < QUAD; ++next) {
                        shared_columns[(first_depth + depth + next) * SHARED_DEPTH + to] = numbers[next];
                    }
                }
#else
                for (uint at = 0u; at < READS; ++at) {
                    const uint word = helper + at * helpers;
                    const uint depth = is_by_columns ? word / COLUMNS : word % depths_at_once;
                    const uint to = is_by_columns ? word % COLUMNS : word / depths_at_once;
                    const uint place = min(column + to, record.counts.y - 1u) * of_columns
                        + (first + begin + min(depth, last)) * of_depths;
                    shared_columns[(first_depth + depth) * SHARED_DEPTH + to] = FROM_BITS(read1_1(at_columns + place));
                }
#endif
                for (uint word = helper; word < depths_at_once * quads * QUAD; word += helpers) {
                    const uint depth = word % depths_at_once;
                    const uint r = word / depths_at_once;
                    const uint place = min(r, rows - 1u) * record.rows.y
                        + (first + begin + min(depth, last)) * record.rows_depths.w;
                    shared_rows[(first_depth + depth) * quads + r / QUAD][r % QUAD] = FROM_BITS(read1_0(at_rows + place));
                }
            }
            barrier();
            for (uint depth = 0u; depth < (has_sums ? depths : 0u); ++depth) {
                const uint at = first_depth + depth;
                sums += shared_rows[at * quads + own_quad] * shared_columns[at * SHARED_DEPTH + own_column];
            }
            barrier();
        }
        sums_of_parts[gl_LocalInvocationIndex] = sums;
        barrier();
        const uint added = lane == 0u ? min(at_once, parts - first_part) : 0u;
        for (uint next = 0u; next < added; ++next) {
            const NUMBERS of_part = sums_of_parts[helper + next * helpers];
            all = first_part + next == 0u ? of_part : all + of_part;
        }
        barrier();
    }
    const uvec4 words = TO_BITS(all);
    for (uint r = 0u; r < (lane == 0u ? own_rows : 0u); ++r) {
        write1(own_result + r * record.results.y, words[r]);
    }
}
