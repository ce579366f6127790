// Which elements of a matrix lie in a band of its diagonals.
//
// Diagonals are counted from the bottom left corner: that of (y, x) is x + (height - 1 - y), from 0
// to height + width - 2. Constraint: 1 <= height * width <= 2^32 - 1. Then height + width - 1 is at
// most height * width, and no count wraps. The host clips the band to these counts in 64 bits.

// How far the diagonal of a row's first element is from the first diagonal.
uint row_diagonal(uint height, uint y) {
    return height - 1u - y;
}

// The band is the `length` diagonals from `begin` on; it may come around from the largest uint to 0.
bool in_band(uint height, uint y, uint x, uint begin, uint length) {
    return row_diagonal(height, y) + x - begin < length;
}
