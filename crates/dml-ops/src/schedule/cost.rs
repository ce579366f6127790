//! The cost of dispatches, computed from their sizes and strides.

use std::ops::Range;

use dml_core::plan::{Cost, Slot};
use dml_spirv::ElementWidth;

/// The number of elements of a box.
pub(crate) fn elements(sizes: &[u32]) -> u64 {
    sizes.iter().map(|size| u64::from(*size)).product()
}

/// Bytes of the elements that an operand has at the coordinates of a box; its window shows `range`.
/// Coordinates that differ only in dimensions with a stride of 0 share an element; where windows of a
/// convolution overlap, there are no more elements than the window shows.
pub(crate) fn bytes(
    sizes: &[u32],
    strides: &[i64],
    width: ElementWidth,
    range: &Range<u64>,
) -> u64 {
    let told_apart = sizes.iter().zip(strides).filter(|(_, stride)| **stride != 0);
    let count: u64 = told_apart.map(|(size, _)| u64::from(*size)).product();
    width.bytes_of(count).min(range.end - range.start)
}

/// Bytes that operands read; each is given by its slot, its bytes and the range that its window shows.
/// Operands that are parts of one tensor, such as the neighbours that an interpolation reads, count no more
/// than their windows show together.
pub(crate) fn bytes_read(operands: impl IntoIterator<Item = (Slot, u64, Range<u64>)>) -> u64 {
    let mut all: Vec<(Slot, u64, Range<u64>)> = operands.into_iter().collect();
    all.sort_by_key(|(slot, _, shown)| (*slot, shown.start));
    let of_slot = |all: &[(Slot, u64, Range<u64>)]| {
        let sum = all.iter().map(|(_, bytes, _)| *bytes).fold(0, u64::saturating_add);
        sum.min(united(all.iter().map(|(_, _, shown)| shown)))
    };
    all.chunk_by(|one, other| one.0 == other.0).map(of_slot).sum()
}

/// The length of the union of ranges, which come in the order of their starts.
fn united<'a>(ranges: impl Iterator<Item = &'a Range<u64>>) -> u64 {
    let (mut length, mut end) = (0, 0);
    for range in ranges {
        length += range.end.saturating_sub(range.start.max(end));
        end = end.max(range.end);
    }
    length
}

/// The cost of a kernel that writes `count` elements of `element_bytes` bytes each, and reads almost nothing.
pub(crate) fn of_writing(count: u32, element_bytes: u32) -> Cost {
    Cost { operations: count.into(), bytes: u64::from(count) * u64::from(element_bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ElementWidth::B32;

    #[test]
    fn an_element_counts_once_however_often_it_is_read() {
        assert_eq!(bytes(&[8, 16], &[16, 1], B32, &(0..512)), 512);
        // A row for all rows, and one element for all.
        assert_eq!(bytes(&[8, 16], &[0, 1], B32, &(0..64)), 64);
        assert_eq!(bytes(&[8, 16], &[0, 0], B32, &(0..64)), 4);
        // Every second row: the window shows the others as well.
        assert_eq!(bytes(&[4, 16], &[32, 1], B32, &(0..448)), 256);
        // Overlapping windows of 3.
        assert_eq!(bytes(&[10, 3], &[1, 1], B32, &(0..48)), 48);
    }

    #[test]
    fn operands_of_one_tensor_read_no_more_than_they_show_together() {
        let [one, other] = [Slot::Input(0), Slot::Input(1)];
        assert_eq!(bytes_read([(one, 64, 0..64), (other, 64, 0..64)]), 128);
        // Neighbours, and every second element by one, the others by the other.
        assert_eq!(bytes_read([(one, 60, 0..60), (one, 60, 4..64)]), 64);
        assert_eq!(bytes_read([(one, 32, 0..60), (one, 32, 4..64)]), 64);
        assert_eq!(bytes_read([(one, 8, 32..40), (one, 8, 0..8), (one, 8, 8..16)]), 24);
        assert_eq!(bytes_read([]), 0);
    }
}
