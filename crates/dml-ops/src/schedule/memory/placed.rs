//! Buffers that are placed one after the other, each compared with those that live together with it.

use std::collections::BTreeSet;

use super::Buffer;

/// The most placed buffers that another one is compared with. A buffer that lives together with more is placed
/// above all.
pub(super) const MOST_NEIGHBOURS: usize = 1 << 12;

/// The buffers that are placed.
pub(super) struct Placed<'a> {
    buffers: &'a [Buffer],
    alignment: u64,
    /// Only buffers of more bytes lie on both sides of a multiple of this.
    piece: u64,
    pub(super) most_neighbours: usize,
    /// The steps at which buffers begin to live, in order.
    starts: Vec<usize>,
    pub(super) offsets: Vec<u64>,
    pub(super) size: u64,
    /// A binary tree over `starts`, the root at 1: a node has the buffers that are alive at all of its starts and
    /// not at all of its parent's.
    alive: Vec<Vec<usize>>,
    /// The start of each buffer, and its index.
    begun: BTreeSet<(usize, usize)>,
    /// The number of comparisons so far.
    pub(super) compared: usize,
}

impl<'a> Placed<'a> {
    pub(super) fn of(buffers: &'a [Buffer], (alignment, piece): (u64, u64)) -> Self {
        let most_neighbours = MOST_NEIGHBOURS;
        let mut starts: Vec<usize> = buffers.iter().map(|buffer| buffer.lives.start).collect();
        starts.sort_unstable();
        starts.dedup();
        let alive = vec![vec![]; 2 * starts.len()];
        let (offsets, begun) = (vec![0; buffers.len()], BTreeSet::new());
        let (size, compared) = (0, 0);
        Self {
            buffers,
            alignment,
            piece,
            most_neighbours,
            starts,
            offsets,
            size,
            alive,
            begun,
            compared,
        }
    }

    pub(super) fn place_all(&mut self, order: &[usize]) {
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
        let bytes = self.bytes(at);
        if neighbours.len() > self.most_neighbours {
            return self.inside(self.size, bytes);
        }
        neighbours.sort_unstable_by_key(|other| self.offsets[*other]);
        let mut offset = 0;
        for other in neighbours {
            if self.offsets[other] >= offset + bytes {
                break;
            }
            let end = self.offsets[other] + self.bytes(other);
            offset = self.inside(offset.max(end), bytes);
        }
        offset
    }

    /// The first offset from `offset` on at which so many bytes lie in one piece, or begin one if they are more.
    fn inside(&self, offset: u64, bytes: u64) -> u64 {
        let fits = bytes <= self.piece - offset % self.piece;
        if fits { offset } else { offset.next_multiple_of(self.piece) }
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
