//! Blocks that repeat: made on the host, and copied over the whole output.
//!
//! The block is in the constants, so a plan is a single copy, without barriers, and any number of bytes is
//! possible, also for elements narrower than a word.

use dml_core::Tuning;
use dml_core::plan::{Copy, CopyRegion, Repeat, Slot, Step};

use crate::schedule::constants::Constants;

/// The least copies of an output: a smaller output has smaller blocks than the tuning allows, so that a
/// plan's constants are small compared to the output.
const LEAST_COPIES: u64 = 16;

/// In bytes. Copies that are not aligned to it take up to half as long again on a CPU driver.
const CACHE_LINE: u64 = 64;

/// The bytes of one copy: as many blocks as the tuning allows.
fn copied_bytes(block: u64, total: u64, tuning: Tuning) -> u64 {
    let most = u64::from(tuning.seed_bytes).min(total / LEAST_COPIES);
    let count = most / block;
    // This many blocks end on a multiple of a cache line.
    let aligned = CACHE_LINE >> block.trailing_zeros().min(CACHE_LINE.trailing_zeros());
    block * if count < aligned { count.max(1) } else { count - count % aligned }
}

/// The number of regions of [`repeat`] for a block of `block` bytes.
pub(crate) fn regions(block: u64, total: u64, tuning: Tuning) -> u64 {
    total.div_ceil(copied_bytes(block, total, tuning))
}

/// A copy that repeats `block` over the first `total` bytes of the output.
pub(crate) fn repeat(block: &[u8], total: u64, tuning: Tuning, constants: &mut Constants) -> Step {
    let block_bytes = block.len() as u64;
    let size = copied_bytes(block_bytes, total, tuning);
    let count = usize::try_from(size / block_bytes).expect("a seed fits the host");
    let seed = constants.add(&block.repeat(count));
    let (whole, rest) = (total / size, total % size);
    let mut regions = Vec::new();
    if whole > 0 {
        let repeat = Repeat {
            count: u32::try_from(whole).expect("an output has less than 2^32 elements"),
            destination_stride: size.cast_signed(),
            ..Repeat::ONCE
        };
        let source_offset = seed.start;
        regions.push(CopyRegion { source_offset, destination_offset: 0, size, repeat });
    }
    if rest > 0 {
        regions.push(CopyRegion::once(seed.start, total - rest, rest));
    }
    Step::Copy(Copy { source: Slot::Constants, destination: Slot::Output(0), regions })
}
