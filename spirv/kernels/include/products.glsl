// What the kernels that add up products have in common: their push constants and record, where the elements
// of an operand are, and the sums of an invocation: ROWS rows, 1, 4, 8 or 16, of COLUMN_QUADS times four columns.
// INTEGER makes all numbers integers, which wrap, else they are floats. With BYTES a factor is four integers of eight
// bits, and a product is the sum of four; src/product/bytes.rs tells which of them are signed. With HALVES factors are
// floats that halves can have, whose products are exact: a product and a sum are then one operation of one rounding.

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
    uvec4 counts;           // rows, columns, whether sums go on, products of a part
    uvec4 splits[9];        // tiles of columns, tiles of rows, inner batches, inner columns, inner depths
    uvec4 depths;           // sizes, outermost first
    uvec4 rows;             // first element, stride of rows and of batches
    uvec4 rows_depths;
    uvec4 columns;          // first element, nothing, strides of batches
    uvec4 columns_columns;
    uvec4 columns_depths;
    uvec4 results;          // first element, stride of rows and of batches
    uvec4 results_columns;
#ifdef BYTES
    // Of the zero points of rows, at binding 2, and of columns, at binding 3: the first byte, bytes from one to the
    // next, the sign bit if they are signed, and the bits that a zero point has, none if there is no zero point.
    uvec4 zeros[2];
#endif
} record;

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

#ifdef BYTES
// A factor of four ones. The first argument of a dot product is of rows, the second of columns.
const uint ONES = 0x01010101u;
NUMBERS product_of(const NUMBER factor, const NUMBERS columns) {
    return NUMBERS(dotPacked4x8EXT(factor, columns.x), dotPacked4x8EXT(factor, columns.y),
        dotPacked4x8EXT(factor, columns.z), dotPacked4x8EXT(factor, columns.w));
}
NUMBERS total_of_rows(const NUMBERS rows) {
    return NUMBERS(dotPacked4x8EXT(rows.x, ONES), dotPacked4x8EXT(rows.y, ONES),
        dotPacked4x8EXT(rows.z, ONES), dotPacked4x8EXT(rows.w, ONES));
}
uint zero_point(const uint factor, const uint index) {
    const uvec4 zeros = record.zeros[factor];
    const uint at = zeros.x + index * zeros.y;
    const uint word = factor == 0u ? read1_2(at >> 2) : read1_3(at >> 2);
    return (word >> 8u * (at & 3u) & zeros.w ^ zeros.z) - zeros.z;
}
// The zero points of a row and of a column, of the last one beyond it.
uint zero_of_row(const uint row) {
    return zero_point(0u, min(row, record.counts.x - 1u));
}
uint zero_of_column(const uint column) {
    return zero_point(1u, min(column, record.counts.y - 1u));
}
// A sum of products less what the zero points of its row and its column add to it. `totals` are the sums of the row's
// and of the column's bytes, of which there are `count`.
uint without_zeros(const uint sum, const uvec2 zeros, const uvec2 totals, const uint count) {
    return sum - zeros.x * totals.y - zeros.y * (totals.x - count * zeros.x);
}
#define ADD_PRODUCT(SUM, FACTOR, COLUMNS) SUM += product_of(FACTOR, COLUMNS);
#elif defined(HALVES)
#define ADD_PRODUCT(SUM, FACTOR, COLUMNS) SUM = fma(NUMBERS(FACTOR), COLUMNS, SUM);
#else
#define ADD_PRODUCT(SUM, FACTOR, COLUMNS) SUM += FACTOR * COLUMNS;
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
#elif ROWS == 4
#define EACH_ROW(DO) DO(0) DO(1) DO(2) DO(3)
#elif ROWS == 16
#define EACH_ROW(DO)                                              \
    DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) \
    DO(10) DO(11) DO(12) DO(13) DO(14) DO(15)
#else
#define EACH_ROW(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)
#endif

// Sums are variables of their own: SwiftShader keeps arrays in memory. An array has them while they are read
// or written, sum_at(row, quad) being the place of four.
#define SUMS (ROWS * COLUMN_QUADS)
uint sum_at(const uint row, const uint quad) {
    return row * uint(COLUMN_QUADS) + quad;
}

#if COLUMN_QUADS == 2
#define DECLARE(I) NUMBERS low##I = NUMBERS(0); NUMBERS high##I = NUMBERS(0);
#define RESUME(I)                    \
    low##I = FROM_BITS(sums[2 * I]); \
    high##I = FROM_BITS(sums[2 * I + 1]);
#define ADD(I, FACTOR)                           \
    ADD_PRODUCT(low##I, FACTOR, low_columns)     \
    ADD_PRODUCT(high##I, FACTOR, high_columns)
#define KEEP(I)                    \
    sums[2 * I] = TO_BITS(low##I); \
    sums[2 * I + 1] = TO_BITS(high##I);
#else
#define DECLARE(I) NUMBERS low##I = NUMBERS(0);
#define RESUME(I) low##I = FROM_BITS(sums[I]);
#define ADD(I, FACTOR) ADD_PRODUCT(low##I, FACTOR, low_columns)
#define KEEP(I) sums[I] = TO_BITS(low##I);
#endif

// Adds the products of four rows' numbers, from row I on, with the columns' numbers.
#define ADD_QUAD(I0, I1, I2, I3, FACTORS) \
    ADD(I0, FACTORS.x)                    \
    ADD(I1, FACTORS.y)                    \
    ADD(I2, FACTORS.z)                    \
    ADD(I3, FACTORS.w)
