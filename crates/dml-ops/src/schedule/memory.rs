//! Places intermediate results in the temporary resource.
//!
//! Two results may share bytes if one is last read before the other is written. The largest is placed first,
//! each at the lowest offset that is free for its lifetime; that reaches the lower bound on the networks that
//! were measured. It can be worse than placing results in the order in which they are written, so both are
//! tried.
//!
//! Where all results together exceed the largest buffer of the device, the resource is divided into pieces that do not.

use std::cmp::Reverse;
use std::ops::Range;

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
/// same time: a descriptor covers whole blocks. No piece has more than `most` bytes, unless a buffer has by itself.
pub(super) fn place(buffers: &[Buffer], alignment: u64, most: u64) -> Placement {
    let whole = place_whole(buffers, alignment);
    if whole.size <= most {
        return whole;
    }
    let piece = (most - most % PART_ALIGNMENT).max(PART_ALIGNMENT);
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
    let mut offsets = vec![0; buffers.len()];
    // The buffers that are placed, by their offsets.
    let mut placed: Vec<usize> = Vec::with_capacity(buffers.len());
    let mut size = 0;
    for at in order.iter().copied().filter(|at| buffers[*at].size > 0) {
        let bytes = buffers[at].size.next_multiple_of(alignment);
        let lives = &buffers[at].lives;
        let overlaps = |other: &&usize| {
            let other = &buffers[**other].lives;
            lives.start < other.end && other.start < lives.end
        };
        let mut offset = 0;
        for other in placed.iter().filter(overlaps) {
            if offsets[*other] >= offset + bytes {
                break;
            }
            let end = offsets[*other] + buffers[*other].size.next_multiple_of(alignment);
            offset = inside(offset.max(end), bytes, piece);
        }
        offsets[at] = offset;
        let place = placed.partition_point(|other| offsets[*other] <= offset);
        placed.insert(place, at);
        size = size.max(offset + bytes);
    }
    Placement { offsets, size, divisions: vec![] }
}

/// The first offset from `offset` on at which so many bytes lie in one piece, or begin one if they are more.
fn inside(offset: u64, bytes: u64, piece: u64) -> u64 {
    let fits = bytes <= piece - offset % piece;
    if fits { offset } else { offset.next_multiple_of(piece) }
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

#[cfg(test)]
mod networks;

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(size: u64, lives: Range<usize>) -> Buffer {
        Buffer { size, lives }
    }

    #[test]
    fn what_lives_at_other_times_shares_bytes() {
        let chain: Vec<Buffer> = (0..10).map(|at| buffer(100, at..at + 2)).collect();
        let placement = place(&chain, 64, u64::MAX);
        assert_eq!(placement.size, 2 * 128);
        assert_eq!(placement.size, lower_bound(&chain, 64));
        assert!(placement.offsets.iter().all(|it| it.is_multiple_of(64)));
    }

    #[test]
    fn nothing_takes_no_memory() {
        assert_eq!(
            place(&[], 256, u64::MAX),
            Placement { offsets: vec![], size: 0, divisions: vec![] }
        );
        assert_eq!(place(&[buffer(0, 0..3)], 256, u64::MAX).size, 0);
    }

    /// A generator of numbers that needs no crate.
    fn next(state: &mut u64) -> usize {
        *state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(*state >> 33).expect("31 bits")
    }

    /// Some buffers of less than 5000 bytes.
    fn drawn(state: &mut u64) -> Vec<Buffer> {
        let count = 1 + next(state) % 40;
        let buffers =
            (0..count).map(|at| buffer((next(state) % 5000) as u64, at..at + 1 + next(state) % 8));
        buffers.collect()
    }

    fn check_apart(placement: &Placement, buffers: &[Buffer]) {
        let end = |at: usize| placement.offsets[at] + buffers[at].size;
        let pairs = (0..buffers.len()).flat_map(|one| (0..one).map(move |other| (one, other)));
        for (one, other) in pairs {
            let [a, b] = [&buffers[one].lives, &buffers[other].lives];
            let together = a.start < b.end && b.start < a.end;
            let [from, to] = [&placement.offsets[one], &placement.offsets[other]];
            let apart = end(one) <= *to || end(other) <= *from;
            assert!(!together || apart || buffers[one].size * buffers[other].size == 0);
        }
    }

    #[test]
    fn no_two_that_live_together_share_a_byte_and_first_fit_is_never_better() {
        let mut state = 7;
        for _ in 0..10_000 {
            let buffers = drawn(&mut state);
            let placement = place(&buffers, 64, u64::MAX);
            assert!(placement.size <= first_fit(&buffers, 64).size);
            assert!(placement.size >= lower_bound(&buffers, 64));
            check_apart(&placement, &buffers);
        }
    }

    #[test]
    fn no_piece_exceeds_the_limit_unless_a_buffer_does() {
        let (mut state, mut divided) = (11, 0);
        for _ in 0..10_000 {
            let buffers = drawn(&mut state);
            let most = 3000 + (next(&mut state) % 3000) as u64;
            let placement = place(&buffers, 64, most);
            check_apart(&placement, &buffers);
            let starts = [0].into_iter().chain(placement.divisions.iter().copied());
            let ends = placement.divisions.iter().copied().chain([placement.size]);
            for (start, end) in starts.zip(ends) {
                assert!(start < end && start.is_multiple_of(PART_ALIGNMENT));
                let within = |at: &usize| (start..end).contains(&placement.offsets[*at]);
                let parts = (0..buffers.len()).filter(|at| buffers[*at].size > 0).filter(within);
                let sizes: Vec<u64> = parts
                    .inspect(|at| assert!(placement.offsets[*at] + buffers[*at].size <= end))
                    .map(|at| buffers[at].size)
                    .collect();
                assert!(!sizes.is_empty());
                assert!(end - start <= most || sizes.iter().any(|size| size + 512 > most));
            }
            divided += usize::from(!placement.divisions.is_empty());
        }
        assert!(divided > 5_000, "{divided}");
    }
}
