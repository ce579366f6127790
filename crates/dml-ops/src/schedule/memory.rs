//! Places intermediate results in the temporary resource.
//!
//! Two results may share bytes if one is last read before the other is written. The largest is placed first,
//! each at the lowest offset that is free for its lifetime; that reaches the lower bound on the networks that
//! were measured. It can be worse than placing results in the order in which they are written, so both are
//! tried.

use std::cmp::Reverse;
use std::ops::Range;

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
}

/// Places `buffers` so that none shares a byte, or an aligned block, with another one that is live at the
/// same time: a descriptor covers whole blocks.
pub(super) fn place(buffers: &[Buffer], alignment: u64) -> Placement {
    let mut by_size: Vec<usize> = (0..buffers.len()).collect();
    by_size.sort_by_key(|at| (Reverse(buffers[*at].size), buffers[*at].lives.start));
    let largest_first = place_in(&by_size, buffers, alignment);
    if largest_first.size == lower_bound(buffers, alignment) {
        return largest_first;
    }
    let first_fit = first_fit(buffers, alignment);
    if first_fit.size < largest_first.size { first_fit } else { largest_first }
}

/// Places the buffers in the order in which they are written.
fn first_fit(buffers: &[Buffer], alignment: u64) -> Placement {
    let mut order: Vec<usize> = (0..buffers.len()).collect();
    order.sort_by_key(|at| buffers[*at].lives.start);
    place_in(&order, buffers, alignment)
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

fn place_in(order: &[usize], buffers: &[Buffer], alignment: u64) -> Placement {
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
            offset = offset.max(offsets[*other] + buffers[*other].size.next_multiple_of(alignment));
        }
        offsets[at] = offset;
        let place = placed.partition_point(|other| offsets[*other] <= offset);
        placed.insert(place, at);
        size = size.max(offset + bytes);
    }
    Placement { offsets, size }
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
        let placement = place(&chain, 64);
        assert_eq!(placement.size, 2 * 128);
        assert_eq!(placement.size, lower_bound(&chain, 64));
        assert!(placement.offsets.iter().all(|it| it.is_multiple_of(64)));
    }

    #[test]
    fn nothing_takes_no_memory() {
        assert_eq!(place(&[], 256), Placement { offsets: vec![], size: 0 });
        assert_eq!(place(&[buffer(0, 0..3)], 256).size, 0);
    }

    /// A generator of numbers that needs no crate.
    fn next(state: &mut u64) -> usize {
        *state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(*state >> 33).expect("31 bits")
    }

    #[test]
    fn no_two_that_live_together_share_a_byte_and_first_fit_is_never_better() {
        let mut state = 7;
        for _ in 0..10_000 {
            let count = 1 + next(&mut state) % 40;
            let buffers: Vec<Buffer> = (0..count)
                .map(|at| {
                    buffer((next(&mut state) % 5000) as u64, at..at + 1 + next(&mut state) % 8)
                })
                .collect();
            let placement = place(&buffers, 64);
            assert!(placement.size <= first_fit(&buffers, 64).size);
            assert!(placement.size >= lower_bound(&buffers, 64));
            let end = |at: usize| placement.offsets[at] + buffers[at].size;
            for (one, other) in (0..count).flat_map(|one| (0..one).map(move |other| (one, other))) {
                let [a, b] = [&buffers[one].lives, &buffers[other].lives];
                let together = a.start < b.end && b.start < a.end;
                let [from, to] = [&placement.offsets[one], &placement.offsets[other]];
                let apart = end(one) <= *to || end(other) <= *from;
                assert!(!together || apart || buffers[one].size * buffers[other].size == 0);
            }
        }
    }
}
