//! Large fills and copies, in pieces.
//!
//! Drivers have 32-bit bugs in transfers of several GiB. That is a matter of single commands, not of
//! what an operator does: a plan has one fill or region of any size, and whoever records it, or a
//! caller's own fill or copy, does so in pieces. Nothing orders the pieces of a command, and nothing
//! needs to: they share no byte.

use ash::vk;
use dml_core::plan::CopyRegion;

/// A transfer of more bytes is several.
const MAX_TRANSFER: u64 = 1 << 30;

/// Splits a range into pieces of at most 1 GiB, as offsets and sizes.
pub(crate) fn pieces(offset: u64, size: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..size.div_ceil(MAX_TRANSFER)).map(move |index| {
        let start = index * MAX_TRANSFER;
        (offset + start, MAX_TRANSFER.min(size - start))
    })
}

/// A region as Vulkan wants it, for a source and a destination that start at these offsets of their
/// buffers.
pub(crate) fn buffer_copies(
    region: CopyRegion,
    source_at: u64,
    destination_at: u64,
) -> impl Iterator<Item = vk::BufferCopy> {
    let destination = destination_at + region.destination_offset;
    pieces(source_at + region.source_offset, region.size).scan(destination, |destination, piece| {
        let (offset, size) = piece;
        let copy = vk::BufferCopy::default().src_offset(offset).dst_offset(*destination).size(size);
        *destination += size;
        Some(copy)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_ranges_are_split_without_gap_or_overlap() {
        assert_eq!(pieces(4, 0).count(), 0);
        assert_eq!(pieces(4, 8).collect::<Vec<_>>(), [(4, 8)]);
        let most = MAX_TRANSFER;
        assert_eq!(pieces(16, most).collect::<Vec<_>>(), [(16, most)]);
        let split: Vec<_> = pieces(16, 2 * most + 4).collect();
        assert_eq!(split, [(16, most), (16 + most, most), (16 + 2 * most, 4)]);
    }

    #[test]
    fn both_sides_of_a_copy_are_split_alike() {
        let region =
            CopyRegion { source_offset: 4, destination_offset: 8, size: MAX_TRANSFER + 12 };
        let copies: Vec<_> = buffer_copies(region, 100, 200)
            .map(|copy| (copy.src_offset, copy.dst_offset, copy.size))
            .collect();
        let most = MAX_TRANSFER;
        assert_eq!(copies, [(104, 208, most), (104 + most, 208 + most, 12)]);
    }
}
