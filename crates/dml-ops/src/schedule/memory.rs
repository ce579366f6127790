//! Places intermediate results in the temporary resource.
//!
//! Two results may share bytes if one is last read before the other is written. The largest is placed first,
//! each at the lowest offset that is free for its lifetime; that reaches the lower bound on the networks that
//! were measured. It can be worse than placing results in the order in which they are written, so both are
//! tried.

use std::cmp::Reverse;
use std::collections::BTreeSet;
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

/// Places the buffers in this order.
fn place_in(order: &[usize], buffers: &[Buffer], alignment: u64) -> Placement {
    let mut placed = Placed::of(buffers, alignment, MOST_NEIGHBOURS);
    placed.place_all(order);
    Placement { offsets: placed.offsets, size: placed.size }
}

/// The most placed buffers that another one is compared with. A buffer that lives together with more is placed
/// above all.
const MOST_NEIGHBOURS: usize = 1 << 12;

/// The buffers that are placed.
struct Placed<'a> {
    buffers: &'a [Buffer],
    alignment: u64,
    most_neighbours: usize,
    /// The steps at which buffers begin to live, in order.
    starts: Vec<usize>,
    offsets: Vec<u64>,
    size: u64,
    /// A binary tree over `starts`, the root at 1: a node has the buffers that are alive at all of its starts and
    /// not at all of its parent's.
    alive: Vec<Vec<usize>>,
    /// The start of each buffer, and its index.
    begun: BTreeSet<(usize, usize)>,
    /// The number of comparisons so far.
    compared: usize,
}

impl<'a> Placed<'a> {
    fn of(buffers: &'a [Buffer], alignment: u64, most_neighbours: usize) -> Self {
        let mut starts: Vec<usize> = buffers.iter().map(|it| it.lives.start).collect();
        starts.sort_unstable();
        starts.dedup();
        let alive = vec![vec![]; 2 * starts.len()];
        let (offsets, begun) = (vec![0; buffers.len()], BTreeSet::new());
        let (size, compared) = (0, 0);
        Self { buffers, alignment, most_neighbours, starts, offsets, size, alive, begun, compared }
    }

    fn place_all(&mut self, order: &[usize]) {
        for at in order.iter().copied().filter(|at| self.buffers[*at].size > 0) {
            let offset = self.lowest_offset(at);
            self.offsets[at] = offset;
            self.size = self.size.max(offset + self.bytes(at));
            self.insert(at);
        }
    }

    fn bytes(&self, at: usize) -> u64 {
        self.buffers[at].size.next_multiple_of(self.alignment)
    }

    /// The lowest offset that is free while the buffer lives.
    fn lowest_offset(&mut self, at: usize) -> u64 {
        let mut neighbours = self.neighbours(at);
        self.compared += neighbours.len();
        if neighbours.len() > self.most_neighbours {
            return self.size;
        }
        neighbours.sort_unstable_by_key(|other| self.offsets[*other]);
        let (bytes, mut offset) = (self.bytes(at), 0);
        for other in neighbours {
            if self.offsets[other] >= offset + bytes {
                break;
            }
            offset = offset.max(self.offsets[other] + self.bytes(other));
        }
        offset
    }

    /// The placed buffers that live together with this one; one more than are compared if there are more.
    fn neighbours(&self, at: usize) -> Vec<usize> {
        let lives = &self.buffers[at].lives;
        let leaf = self.rank(lives.start) + self.starts.len();
        let nodes =
            std::iter::successors(Some(leaf), |node| Some(node / 2)).take_while(|it| *it > 0);
        let at_start = nodes.flat_map(|node| self.alive[node].iter().copied());
        let later = self
            .begun
            .range((lives.start + 1, 0)..(lives.end.max(lives.start + 1), 0))
            .map(|(_, other)| *other);
        at_start.chain(later).take(self.most_neighbours + 1).collect()
    }

    /// The number of starts before a step.
    fn rank(&self, step: usize) -> usize {
        self.starts.partition_point(|start| *start < step)
    }

    fn insert(&mut self, at: usize) {
        let lives = &self.buffers[at].lives;
        let leaves = [lives.start, lives.end].map(|step| self.rank(step) + self.starts.len());
        let [mut first, mut end] = leaves;
        while first < end {
            if first % 2 == 1 {
                self.alive[first].push(at);
                first += 1;
            }
            if end % 2 == 1 {
                end -= 1;
                self.alive[end].push(at);
            }
            (first, end) = (first / 2, end / 2);
        }
        self.begun.insert((lives.start, at));
    }
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

    /// The offsets by comparisons of every two buffers.
    fn placed_by_all_pairs(order: &[usize], buffers: &[Buffer], alignment: u64) -> Vec<u64> {
        let mut offsets = vec![0; buffers.len()];
        let mut placed: Vec<usize> = vec![];
        for at in order.iter().copied().filter(|at| buffers[*at].size > 0) {
            let end =
                |at: usize, offset: u64| offset + buffers[at].size.next_multiple_of(alignment);
            let lives = &buffers[at].lives;
            let together = placed.iter().copied().filter(|other| {
                let other = &buffers[*other].lives;
                lives.start < other.end && other.start < lives.end
            });
            let together: Vec<usize> = together.collect();
            let is_free = |offset: &u64| {
                let mut others = together.iter();
                others
                    .all(|it| end(*it, offsets[*it]) <= *offset || end(at, *offset) <= offsets[*it])
            };
            let ends = together.iter().map(|it| end(*it, offsets[*it]));
            offsets[at] = ends.chain([0]).filter(is_free).min().expect("above all");
            placed.push(at);
        }
        offsets
    }

    fn comparisons(buffers: &[Buffer], most_neighbours: usize) -> (usize, u64) {
        let mut placed = Placed::of(buffers, 64, most_neighbours);
        placed.place_all(&(0..buffers.len()).collect::<Vec<_>>());
        (placed.compared, placed.size)
    }

    #[test]
    fn a_buffer_is_compared_with_those_that_live_together_with_it_and_no_more_than_the_bound() {
        let chain: Vec<Buffer> = (0..50_000).map(|at| buffer(100, at..at + 3)).collect();
        assert_eq!(comparisons(&chain, MOST_NEIGHBOURS), (2 * 50_000 - 3, 3 * 128));
        let together: Vec<Buffer> = (0..10_000).map(|at| buffer(100, at..20_000)).collect();
        let (compared, size) = comparisons(&together, 16);
        assert!(compared <= 17 * 10_000, "{compared}");
        assert_eq!(size, lower_bound(&together, 64));
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
            let order: Vec<usize> = (0..count).rev().collect();
            let by_all_pairs = placed_by_all_pairs(&order, &buffers, 64);
            assert_eq!(place_in(&order, &buffers, 64).offsets, by_all_pairs);
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
