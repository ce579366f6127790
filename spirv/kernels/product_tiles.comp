// A skeleton, of which nothing is linked: sums of products, where a work group has a tile of TILE rows and as
// many columns, 32, 64 or 128. It reads what sixteen depths need into memory that it shares, then each
// invocation adds these products to its own sums, in the order of the depths.
//
// Rows are read as quads; with WHOLE so are columns. With INTEGER all are integers, else floats.
#version 450
#extension GL_GOOGLE_include_directive : require
#ifdef BYTES
#extension GL_EXT_integer_dot_product : require
#endif

#if TILE == 32
#define LOCAL_SIZE_LITERAL 64
#define ROWS 4
#define COLUMN_QUADS 1
#elif TILE == 64
#define LOCAL_SIZE_LITERAL 128
#define ROWS 8
#define COLUMN_QUADS 1
#else
#define LOCAL_SIZE_LITERAL 256
#define ROWS 8
#define COLUMN_QUADS 2
#endif

#include "include/dispatch.glsl"
#include "include/divide.glsl"
#include "include/operands.glsl"
#include "include/products.glsl"

const uint DEPTHS = 16u;
// Quads of a tile's side: those of an invocation are so many invocations' quads apart.
const uint QUADS = uint(TILE) / 4u;
const uint COLUMN_INVOCATIONS = QUADS / uint(COLUMN_QUADS);
const uint ROW_INVOCATIONS = QUADS / (uint(ROWS) / 4u);
// An invocation reads the same quads of rows and columns at every so many depths.
const uint DEPTH_STEP = uint(LOCAL_SIZE_LITERAL) / QUADS;

shared NUMBERS shared_rows[DEPTHS * QUADS];
shared NUMBERS shared_columns[DEPTHS * QUADS];

// Where a depth is in both inputs.
uvec2 depth_at(const uint depth) {
    uint rest = depth;
    uvec4 at;
    at.w = split(8u, rest);
    at.z = split(7u, rest);
    at.y = split(6u, rest);
    at.x = rest;
    return uvec2(total(at * record.rows_depths), total(at * record.columns_depths));
}

void main() {
    const uint group = linear_group(push.first_group);
    if (group >= push.count) {
        return;
    }
    uint rest = group;
    const uint column = split(0u, rest) * uint(TILE);
    const uint row = split(1u, rest) * uint(TILE);
    const uint inner_batch = split(2u, rest);
    const uint at_rows = record.rows.x + rest * record.rows.z + inner_batch * record.rows.w;
    const uint at_columns =
        record.columns.x + rest * record.columns.z + inner_batch * record.columns.w;
    const uint result = record.results.x + rest * record.results.z + inner_batch * record.results.w;

    // What this invocation reads for all. Past the last rows and columns there may be none to read.
    const uint invocation = gl_LocalInvocationIndex;
    const uint read_quad = invocation % QUADS;
    const uint read_depth = invocation / QUADS;
    const uint read_row = at_rows + min(row + 4u * read_quad, record.counts.x - 1u & ~3u);
    const uint read_first = min(column + 4u * read_quad, record.counts.y - 1u & ~3u);
#if WHOLE
    const uint read_column = at_columns + place_of(read_first).x;
#else
    uvec4 read_columns;
    for (uint at = 0u; at < 4u; ++at) {
        read_columns[at] = at_columns + place_of(read_first + at).x;
    }
#endif

    // What it adds up.
    const uint column_quad = invocation % COLUMN_INVOCATIONS;
    const uint row_quad = invocation / COLUMN_INVOCATIONS;
    uvec4 sums[SUMS];
    uvec4 places[COLUMN_QUADS];
    for (uint quad = 0u; quad < uint(COLUMN_QUADS); ++quad) {
        for (uint at = 0u; at < 4u; ++at) {
            const uint first = column + 4u * (column_quad + quad * COLUMN_INVOCATIONS);
            places[quad][at] = result + place_of(first + at).y;
        }
    }
    EACH_ROW(DECLARE)

#define EACH_SUM(DO)                                                                       \
    for (uint r = 0u; r < uint(ROWS); ++r) {                                               \
        const uint at_row = row + 4u * (row_quad + (r >> 2) * ROW_INVOCATIONS) + (r & 3u); \
        for (uint quad = 0u; quad < uint(COLUMN_QUADS); ++quad) {                          \
            const uint first = column + 4u * (column_quad + quad * COLUMN_INVOCATIONS);    \
            for (uint at = 0u; at < 4u; ++at) {                                            \
                if (at_row < record.counts.x && first + at < record.counts.y) {            \
                    DO(places[quad][at] + at_row * record.results.y,                       \
                        sums[sum_at(r, quad)][at])                                         \
                }                                                                          \
            }                                                                              \
        }                                                                                  \
    }
#define READ_SUM(PLACE, SUM) SUM = written(PLACE);
#define WRITE_SUM(PLACE, SUM) write1(PLACE, SUM);

    if (varying_bound(record.counts.z, group) != 0u) {
        EACH_SUM(READ_SUM)
        EACH_ROW(RESUME)
    }

    const uvec4 sizes = record.depths;
    const uint products = varying_bound(sizes.x * sizes.y * sizes.z * sizes.w, group);
#ifdef BYTES
    // Of the quads that this invocation reads.
    uvec4 row_totals = uvec4(0u);
    uvec4 column_totals = uvec4(0u);
#endif
    for (uint first = 0u; first < products; first += DEPTHS) {
        const uint depths = min(products - first, DEPTHS);
        for (uint slot = read_depth; slot < DEPTHS; slot += DEPTH_STEP) {
            const uvec2 at = depth_at(first + min(slot, depths - 1u));
            shared_rows[slot * QUADS + read_quad] = FROM_BITS(read4_0(read_row + at.x >> 2));
#if WHOLE
            const uvec4 numbers = read4_1(read_column + at.y >> 2);
#else
            const uvec4 read_at = read_columns + at.y;
            const uvec4 numbers = uvec4(
                read1_1(read_at.x), read1_1(read_at.y), read1_1(read_at.z), read1_1(read_at.w));
#endif
            shared_columns[slot * QUADS + read_quad] = FROM_BITS(numbers);
#ifdef BYTES
            if (slot < depths) {
                row_totals += total_of_rows(shared_rows[slot * QUADS + read_quad]);
                column_totals += product_of(ONES, numbers);
            }
#endif
        }
        barrier();
        for (uint depth = 0u; depth < depths; ++depth) {
            const uint at = depth * QUADS;
            const NUMBERS low_columns = shared_columns[at + column_quad];
#if COLUMN_QUADS == 2
            const NUMBERS high_columns = shared_columns[at + column_quad + COLUMN_INVOCATIONS];
#endif
            const NUMBERS low_rows = shared_rows[at + row_quad];
            ADD_QUAD(0, 1, 2, 3, low_rows)
#if ROWS == 8
            const NUMBERS high_rows = shared_rows[at + row_quad + ROW_INVOCATIONS];
            ADD_QUAD(4, 5, 6, 7, high_rows)
#endif
        }
        barrier();
    }
    EACH_ROW(KEEP)
#ifdef BYTES
    shared_rows[read_depth * QUADS + read_quad] = row_totals;
    shared_columns[read_depth * QUADS + read_quad] = column_totals;
    barrier();
    // Of the rows and columns whose products this invocation has added up.
    uvec4 totals_of_rows[ROWS / 4];
    for (uint quad = 0u; quad < uint(ROWS) / 4u; ++quad) {
        totals_of_rows[quad] = uvec4(0u);
        for (uint step = 0u; step < DEPTH_STEP; ++step) {
            totals_of_rows[quad] +=
                shared_rows[step * QUADS + row_quad + quad * ROW_INVOCATIONS];
        }
    }
    for (uint quad = 0u; quad < uint(COLUMN_QUADS); ++quad) {
        const uint column_at = column_quad + quad * COLUMN_INVOCATIONS;
        uvec4 totals = uvec4(0u);
        for (uint step = 0u; step < DEPTH_STEP; ++step) {
            totals += shared_columns[step * QUADS + column_at];
        }
        for (uint at = 0u; at < 4u; ++at) {
            const uint zero = zero_of_column(column + 4u * column_at + at);
            for (uint r = 0u; r < uint(ROWS); ++r) {
                const uint at_row = row + 4u * (row_quad + (r >> 2) * ROW_INVOCATIONS) + (r & 3u);
                const uvec2 zeros = uvec2(zero_of_row(at_row), zero);
                const uvec2 both = uvec2(totals_of_rows[r >> 2][r & 3u], totals[at]);
                sums[sum_at(r, quad)][at] =
                    without_zeros(sums[sum_at(r, quad)][at], zeros, both, 4u * products);
            }
        }
    }
#endif
    EACH_SUM(WRITE_SUM)
}
