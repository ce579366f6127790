//! Large fills and copies are divided into pieces.
//!
//! Drivers have 32-bit bugs in transfers of several GiB. This concerns single commands, not operators: a plan
//! has one fill or region of any size, and recording it, or a caller's own fill or copy, divides it. The
//! pieces of a command are not ordered, and need not be: they share no byte.

use ash::vk;
use dml_core::plan::CopyRegion;

/// The largest transfer that is recorded as one command.
const MAX_TRANSFER: u64 = 1 << 30;

/// The largest number of regions in one copy command. 6 KiB of stack.
const MAX_BATCH: usize = 256;

/// Splits a range into pieces of at most 1 GiB, as offsets and sizes.
pub(crate) fn pieces(offset: u64, size: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..size.div_ceil(MAX_TRANSFER)).map(move |index| {
        let start = index * MAX_TRANSFER;
        (offset + start, MAX_TRANSFER.min(size - start))
    })
}

/// Calls `record` with Vulkan's regions, in batches: loops are unrolled a batch at a time on the stack, so
/// that recording them allocates nothing.
pub(crate) fn buffer_copies(regions: &[CopyRegion], mut record: impl FnMut(&[vk::BufferCopy])) {
    let mut batch = [vk::BufferCopy::default(); MAX_BATCH];
    let mut filled = 0;
    let single = regions.iter().flat_map(|region| region.regions());
    for region in single.flat_map(region_pieces) {
        batch[filled] = region;
        filled += 1;
        if filled == MAX_BATCH {
            record(&batch);
            filled = 0;
        }
    }
    if filled > 0 {
        record(&batch[..filled]);
    }
}

fn region_pieces(region: CopyRegion) -> impl Iterator<Item = vk::BufferCopy> {
    pieces(0, region.size).map(move |(start, size)| {
        vk::BufferCopy::default()
            .src_offset(region.source_offset + start)
            .dst_offset(region.destination_offset + start)
            .size(size)
    })
}

#[cfg(test)]
mod tests {
    use dml_core::plan::Repeat;

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

    fn recorded(regions: &[CopyRegion]) -> Vec<Vec<(u64, u64, u64)>> {
        let mut commands = Vec::new();
        buffer_copies(regions, |batch| {
            let flat = |copy: &vk::BufferCopy| (copy.src_offset, copy.dst_offset, copy.size);
            commands.push(batch.iter().map(flat).collect());
        });
        commands
    }

    #[test]
    fn both_sides_of_a_copy_are_split_alike() {
        let most = MAX_TRANSFER;
        let expected = [(104, 208, most), (104 + most, 208 + most, 12)];
        assert_eq!(recorded(&[CopyRegion::once(104, 208, most + 12)]), [expected]);
        assert!(recorded(&[]).is_empty());
    }

    #[test]
    fn loops_are_recorded_in_batches() {
        let count = u32::try_from(MAX_BATCH).unwrap() + 1;
        let repeat = Repeat { count, source_stride: -2, destination_stride: 10, growth: 1 };
        let region = CopyRegion { source_offset: 1000, destination_offset: 7, size: 3, repeat };
        let commands = recorded(&[CopyRegion::once(5000, 100_000, 1), region]);
        assert_eq!(commands.iter().map(Vec::len).collect::<Vec<_>>(), [MAX_BATCH, 2]);
        let all = commands.concat();
        assert_eq!(all[..3], [(5000, 100_000, 1), (1000, 7, 3), (998, 17, 4)]);
        let last = u64::from(count) - 1;
        assert_eq!(all.last(), Some(&(1000 - 2 * last, 7 + 10 * last, 3 + last)));
    }
}
