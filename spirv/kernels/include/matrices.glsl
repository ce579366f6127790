// A stack of matrices as the kernels on bands of diagonals are told: a whole tensor, or a box of one.
// To be included after runs.glsl.

// Mirrored by twins/matrices.rs.
struct Matrices {
    uint start;      // the first element, counted from the window's first word
    uint size1;      // of the inner batch dimension
    uint height;
    uint width;
    uint value_low;
    uint value_high;
};

// Both batches, row and column of the index-th element in row-major order, of rows with `columns`
// elements.
uvec4 coordinate_of(uint index, Matrices matrices, uint columns) {
    const uint row = index / columns;
    const uint batch = row / matrices.height;
    return uvec4(
        batch / matrices.size1, batch % matrices.size1, row % matrices.height, index % columns);
}

// The coordinate that is `step` elements after `at`, where `step` is the coordinate of an index.
// Constraint: there is such an element; then no sum wraps.
uvec4 advance(uvec4 at, uvec4 step, Matrices matrices, uint columns) {
    uint carry = 0u;
    add_with_carry(columns, step[3], at[3], carry);
    add_with_carry(matrices.height, step[2], at[2], carry);
    add_with_carry(matrices.size1, step[1], at[1], carry);
    at[0] += step[0] + carry;
    return at;
}

// How far an element is from the first one.
uint offset_of(uvec4 coordinate, uvec4 strides) {
    return coordinate[0] * strides[0]
        + coordinate[1] * strides[1]
        + coordinate[2] * strides[2]
        + coordinate[3] * strides[3];
}
