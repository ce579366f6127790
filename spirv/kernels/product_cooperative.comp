// A skeleton, of which nothing is linked: sums of products of halves, added up in single precision by
// cooperative matrices. Each subgroup, which is a work group, has two times two of them. All matrices are
// packed, and whole in such pairs; where one has fewer batches, these are read again.
//
// In which order products are added, and what is rounded in between, is the device's.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#pragma use_vulkan_memory_model

#include "include/dispatch.glsl"
#include "include/divide.glsl"
#include "include/operands.glsl"

layout(constant_id = 1) const uint MATRIX_M = 16u;
layout(constant_id = 2) const uint MATRIX_N = 16u;
layout(constant_id = 3) const uint MATRIX_K = 16u;

// Mirrored by src/element_wise/push.rs.
layout(push_constant, std430) uniform PushConstants {
    uint base_words[OPERANDS];  // where the window of each operand starts in its descriptor
    uint first_group;
    uint count;                 // work groups, at least 1
} push;

// Mirrored by src/product/cooperative.rs.
layout(set = 0, binding = 8, std140) uniform Record {
    uvec4 sizes;            // rows, columns, depths
    uvec4 splits[3];        // work groups side by side in columns, in rows, and inner batches
    uvec4 starts;           // of rows, columns and sums, in words
    uvec4 outer_batches;    // words from one to the next, of rows, columns and sums
    uvec4 inner_batches;
} record;

uint split(const uint by, inout uint index) {
    const uvec4 size = record.splits[by];
    const uint quotient = divide(index, size.y, size.z);
    const uint rest = index - quotient * size.x;
    index = quotient;
    return rest;
}

#define ROWS_MATRIX coopmat<float16_t, gl_ScopeSubgroup, MATRIX_M, MATRIX_K, gl_MatrixUseA>
#define COLUMNS_MATRIX coopmat<float16_t, gl_ScopeSubgroup, MATRIX_K, MATRIX_N, gl_MatrixUseB>
#define SUMS_MATRIX coopmat<float, gl_ScopeSubgroup, MATRIX_M, MATRIX_N, gl_MatrixUseAccumulator>
const int ROW_MAJOR = gl_CooperativeMatrixLayoutRowMajor;

void main() {
    uint rest = linear_group(push.first_group);
    if (rest >= push.count) {
        return;
    }
    const uint column = split(0u, rest) * 2u * MATRIX_N;
    const uint row = split(1u, rest) * 2u * MATRIX_M;
    const uint inner = split(2u, rest);
    const uvec4 batch = record.starts + rest * record.outer_batches + inner * record.inner_batches;

    // A word has two halves.
    const uint columns = record.sizes.y;
    const uint row_words = record.sizes.z / 2u;
    const uint column_words = columns / 2u;
    uint at_rows = push.base_words[0] + batch.x + row * row_words;
    uint at_columns = push.base_words[1] + batch.y + column / 2u;
    const uint at_sums = push.base_words[OUTPUT] + batch.z + row * columns + column;

    SUMS_MATRIX low_low = SUMS_MATRIX(0.0);
    SUMS_MATRIX low_high = SUMS_MATRIX(0.0);
    SUMS_MATRIX high_low = SUMS_MATRIX(0.0);
    SUMS_MATRIX high_high = SUMS_MATRIX(0.0);
    for (uint depth = 0u; depth < record.sizes.z; depth += MATRIX_K) {
        ROWS_MATRIX low_rows;
        ROWS_MATRIX high_rows;
        COLUMNS_MATRIX low_columns;
        COLUMNS_MATRIX high_columns;
        coopMatLoad(low_rows, words1_0, at_rows, row_words, ROW_MAJOR);
        coopMatLoad(high_rows, words1_0, at_rows + MATRIX_M * row_words, row_words, ROW_MAJOR);
        coopMatLoad(low_columns, words1_1, at_columns, column_words, ROW_MAJOR);
        coopMatLoad(high_columns, words1_1, at_columns + MATRIX_N / 2u, column_words, ROW_MAJOR);
        low_low = coopMatMulAdd(low_rows, low_columns, low_low);
        low_high = coopMatMulAdd(low_rows, high_columns, low_high);
        high_low = coopMatMulAdd(high_rows, low_columns, high_low);
        high_high = coopMatMulAdd(high_rows, high_columns, high_high);
        at_rows += MATRIX_K / 2u;
        at_columns += MATRIX_K * column_words;
    }
    coopMatStore(low_low, words1_7, at_sums, columns, ROW_MAJOR);
    coopMatStore(low_high, words1_7, at_sums + MATRIX_N, columns, ROW_MAJOR);
    const uint next_rows = at_sums + MATRIX_M * columns;
    coopMatStore(high_low, words1_7, next_rows, columns, ROW_MAJOR);
    coopMatStore(high_high, words1_7, next_rows + MATRIX_N, columns, ROW_MAJOR);
}
