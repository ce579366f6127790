//! `include/band.glsl` on the host.

/// How far the diagonal of a row's first element is from the first diagonal.
pub(super) fn row_diagonal(height: u32, y: u32) -> u32 {
    height.wrapping_sub(1).wrapping_sub(y)
}

/// Whether an element lies in the band of `length` diagonals from `begin` on, counted from the
/// bottom left corner; the band may come around from the largest number to 0.
pub(super) fn in_band(height: u32, y: u32, x: u32, begin: u32, length: u32) -> bool {
    row_diagonal(height, y).wrapping_add(x).wrapping_sub(begin) < length
}
