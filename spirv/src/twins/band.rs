//! `include/band.glsl` on the host.

/// The number of diagonals from the first one to that of a row's first element.
pub(super) fn row_diagonal(height: u32, y: u32) -> u32 {
    height.wrapping_sub(1).wrapping_sub(y)
}

/// Whether an element lies in the band of `length` diagonals from `begin` on, counted from the bottom left corner.
/// The band may wrap from the largest number to 0.
pub(super) fn in_band(height: u32, y: u32, x: u32, begin: u32, length: u32) -> bool {
    row_diagonal(height, y).wrapping_add(x).wrapping_sub(begin) < length
}
