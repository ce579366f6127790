//! Places intermediate results in the temporary resource.
//!
//! Two results may share bytes if one is last read before the other is written. The largest is placed first,
//! each at the lowest offset that is free for its lifetime; that reaches the lower bound on the networks that
//! were measured. It can be worse than placing results in the order in which they are written, so both are
//! tried.
//!
//! Where all results together exceed the largest buffer of the device, the resource is divided into pieces that do not.

mod placed;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::ops::Range;

use self::placed::Placed;
use super::resource::PART_ALIGNMENT;

/// A result that needs memory during its lifetime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Buffer {
    /// The size in bytes.
    pub(super) size: u64,
    /// The steps from the one that writes it to the one after the last that reads it.
    pub(super) lives: Range<usize>,
}

/// The offset of each buffer, and the bytes of all together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Placement {
    /// One offset for each buffer: a multiple of the alignment.
    pub(super) offsets: Vec<u64>,
    /// The size of the memory for all buffers.
    pub(super) size: u64,
    /// The offsets at which the memory is divided, see [`dml_core::plan::Divisions`].
    pub(super) divisions: Vec<u64>,
}

/// Places `buffers` so that none shares a byte, or an aligned block, with another one that is live at the
/// same time: a descriptor covers whole blocks. No piece has more than `most` bytes, or than the largest buffer.
pub(super) fn place(buffers: &[Buffer], alignment: u64, most: u64) -> Placement {
    let whole = place_whole(buffers, alignment);
    if whole.size <= most {
        return whole;
    }
    let largest = buffers.iter().map(|buffer| buffer.size.next_multiple_of(PART_ALIGNMENT)).max();
    let piece = (most - most % PART_ALIGNMENT).max(largest.unwrap_or(PART_ALIGNMENT));
    divided(place_in(&largest_first(buffers), buffers, (alignment, piece)), buffers, piece)
}

/// Places the buffers in one piece.
fn place_whole(buffers: &[Buffer], alignment: u64) -> Placement {
    let largest_first = place_in(&largest_first(buffers), buffers, (alignment, u64::MAX));
    if largest_first.size == lower_bound(buffers, alignment) {
        return largest_first;
    }
    let first_fit = first_fit(buffers, alignment);
    if first_fit.size < largest_first.size { first_fit } else { largest_first }
}

fn largest_first(buffers: &[Buffer]) -> Vec<usize> {
    let mut by_size: Vec<usize> = (0..buffers.len()).collect();
    by_size.sort_by_key(|at| (Reverse(buffers[*at].size), buffers[*at].lives.start));
    by_size
}

/// Places the buffers in the order in which they are written.
fn first_fit(buffers: &[Buffer], alignment: u64) -> Placement {
    let mut order: Vec<usize> = (0..buffers.len()).collect();
    order.sort_by_key(|at| buffers[*at].lives.start);
    place_in(&order, buffers, (alignment, u64::MAX))
}

/// The greatest number of bytes that are live at one time: no placement takes less.
pub(super) fn lower_bound(buffers: &[Buffer], alignment: u64) -> u64 {
    let mut changes: Vec<(usize, i128)> = Vec::with_capacity(2 * buffers.len());
    for buffer in buffers {
        let size = i128::from(buffer.size.next_multiple_of(alignment));
        changes.extend([(buffer.lives.start, size), (buffer.lives.end, -size)]);
    }
    // A buffer that ends at a step makes room for one that begins there.
    changes.sort_unstable();
    let sums = changes.iter().scan(0, |sum, (_, change)| {
        *sum += change;
        Some(*sum)
    });
    u64::try_from(sums.max().unwrap_or(0)).unwrap_or(u64::MAX)
}

/// Places the buffers in this order, each at the lowest offset that is free for its lifetime. Only buffers of more
/// than `piece` bytes lie on both sides of a multiple of `piece`.
fn place_in(order: &[usize], buffers: &[Buffer], (alignment, piece): (u64, u64)) -> Placement {
    let mut placed = Placed::of(buffers, (alignment, piece));
    placed.place_all(order);
    Placement { offsets: placed.offsets, size: placed.size, divisions: vec![] }
}

/// Divides a placement at multiples of `piece`, and moves the pieces together.
fn divided(mut placement: Placement, buffers: &[Buffer], piece: u64) -> Placement {
    let mut order: Vec<usize> = (0..buffers.len()).filter(|at| buffers[*at].size > 0).collect();
    order.sort_by_key(|at| placement.offsets[*at]);
    // The bytes of the current piece before the pieces are moved, and its first byte afterwards.
    let (mut current, mut moved_to) = (0..0, 0u64);
    for at in order {
        let offset = placement.offsets[at];
        let start = offset - offset % piece;
        if start > current.start && start >= current.end {
            moved_to = (moved_to + (current.end - current.start)).next_multiple_of(PART_ALIGNMENT);
            placement.divisions.push(moved_to);
            current = start..start;
        }
        current.end = current.end.max(offset + buffers[at].size);
        placement.offsets[at] = moved_to + (offset - current.start);
    }
    placement.size = (moved_to + (current.end - current.start)).next_multiple_of(PART_ALIGNMENT);
    placement
}
