//! The rows and lanes of a dispatch: the uniform block of `kernels/scan.comp`.

use super::ELEMENT_BITS;
use crate::element_wise::Divisor;

/// The least number of lanes of a work group, as a power of two, that reads memory in whole sectors.
const LEAST_LANE_BITS: u32 = 3;

/// How the elements of lanes lie in memory: in a row each, or interleaved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lanes {
    /// Each row is a lane, whose elements are adjacent.
    Rows,
    /// Each row has so many lanes, more than 1, whose elements are interleaved.
    Columns(u32),
}

/// Rows of one dispatch, without gaps. No size is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// How many rows there are.
    pub rows: u32,
    /// Elements of a row, all lanes together. The last lanes may have one element less than the first ones.
    pub row: u32,
    /// The layout of a work group's lanes.
    pub lanes: Lanes,
    /// The first elements, in their windows: of the input, of the second words of its states, of the second words
    /// that are written, and of the output.
    pub starts: [u32; 4],
}

/// How work groups share the elements of lanes.
#[derive(Clone, Copy, Debug)]
struct Shares {
    element_bits: u32,
    lane_bits: u32,
}

impl Record {
    /// The number of elements in the longest lane.
    pub fn length(&self) -> u32 {
        self.row.div_ceil(self.columns())
    }

    fn columns(&self) -> u32 {
        match self.lanes {
            Lanes::Rows => 1,
            Lanes::Columns(count) => count,
        }
    }

    fn lane_count(&self) -> u32 {
        match self.lanes {
            Lanes::Rows => self.rows,
            Lanes::Columns(count) => count,
        }
    }

    fn shares(&self) -> Shares {
        let lanes = bits_for(self.lane_count());
        let least = match self.lanes {
            Lanes::Rows => 0,
            Lanes::Columns(_) => lanes.min(LEAST_LANE_BITS),
        };
        let element_bits = bits_for(self.length()).min(ELEMENT_BITS - least);
        Shares { element_bits, lane_bits: lanes.min(ELEMENT_BITS - element_bits) }
    }

    /// The stride, in elements of a lane, of the lanes that a further dispatch joins: one dispatch joins
    /// elements that are less than this apart. `None` if one dispatch joins whole lanes.
    pub fn joined(&self) -> Option<u32> {
        let part = 1 << self.shares().element_bits;
        (part < self.length()).then_some(part / 2)
    }

    /// The distance from a part of a lane to the next part.
    fn step(&self) -> u32 {
        self.joined().unwrap_or(1 << self.shares().element_bits)
    }

    fn splits(&self) -> [u32; 2] {
        let lanes = 1 << self.shares().lane_bits;
        [self.lane_count().div_ceil(lanes), self.length().div_ceil(self.step())]
    }

    /// The number of work groups.
    pub fn count(&self) -> u64 {
        let rows = if self.lanes == Lanes::Rows { 1 } else { self.rows };
        self.splits().into_iter().chain([rows]).map(u64::from).product()
    }

    /// The number of passes.
    pub fn passes(&self) -> u32 {
        bits_for(self.end_of_distances())
    }

    /// The bound that the distances of passes stay below.
    fn end_of_distances(&self) -> u32 {
        self.joined().unwrap_or(self.length())
    }

    /// The block.
    pub fn words(&self) -> Vec<u32> {
        let Shares { element_bits, lane_bits } = self.shares();
        let (in_memory, in_row, lowest) = match self.lanes {
            Lanes::Rows => ([self.row, 0], element_bits, 0),
            Lanes::Columns(_) => ([0, 1], 0, lane_bits),
        };
        let split = |size| {
            let Divisor { multiplier, shifts } = Divisor::of(size);
            [size, multiplier, shifts, 0]
        };
        let mut words: Vec<u32> = self.splits().into_iter().flat_map(split).collect();
        words.extend([self.row, self.length(), self.columns(), self.lane_count()]);
        words.extend(in_memory.into_iter().chain([lane_bits, in_row]));
        words.extend([self.step(), self.joined().unwrap_or(0), element_bits, lowest]);
        words.extend(self.starts);
        words.extend([self.end_of_distances(), 0, 0, 0]);
        words
    }
}

/// The number of bits of the numbers below `count`.
fn bits_for(count: u32) -> u32 {
    u32::BITS - (count - 1).leading_zeros()
}

/// The block as a kernel reads it.
pub(super) struct Block {
    words: [u32; 28],
}

/// The part of one lane, or of several, that a work group computes.
pub(super) struct LaneRange {
    pub(super) row: u32,
    first_lane: u32,
    /// The number of the first element in each lane, which may wrap below 0.
    first: u32,
}

impl Block {
    pub(super) fn of(word: impl Fn(usize) -> u32) -> Self {
        Self { words: std::array::from_fn(word) }
    }

    pub(super) fn starts(&self) -> [u32; 4] {
        std::array::from_fn(|at| self.words[20 + at])
    }

    pub(super) fn end_of_distances(&self) -> u32 {
        self.words[24]
    }

    pub(super) fn part(&self, group: u32) -> LaneRange {
        let (lanes, rest) = (group % self.words[0], group / self.words[0]);
        let (part, row) = (rest % self.words[4], rest / self.words[4]);
        let first = part.wrapping_mul(self.words[16]).wrapping_sub(self.words[17]);
        LaneRange { row, first_lane: lanes << self.words[14], first }
    }

    fn in_part(&self, place: u32) -> u32 {
        bits_of(place, self.words[18], self.words[19])
    }

    /// The place that is `distance` elements before `place`, if there is an element.
    pub(super) fn before(&self, part: &LaneRange, place: u32, distance: u32) -> Option<u32> {
        let at = self.in_part(place);
        let is_there = at >= distance && part.first.wrapping_add(at) >= distance;
        is_there.then(|| place - (distance << self.words[19]))
    }

    /// Whether the result at a place is written.
    pub(super) fn is_written(&self, place: u32) -> bool {
        self.in_part(place) >= self.words[17]
    }

    /// The index in memory of a place's element, if it has one.
    pub(super) fn element(&self, part: &LaneRange, place: u32) -> Option<u32> {
        let [row, length, step, lanes] = [8, 9, 10, 11].map(|at| self.words[at]);
        let lane = part.first_lane + bits_of(place, self.words[14], self.words[15]);
        let at = part.first.wrapping_add(self.in_part(place));
        let is_of_group = place >> (self.words[18] + self.words[14]) == 0;
        if !is_of_group || at >= length || lane >= lanes {
            return None;
        }
        let in_row = at * step + lane * self.words[13];
        (in_row < row).then(|| part.row * row + lane * self.words[12] + in_row)
    }
}

fn bits_of(place: u32, count: u32, lowest: u32) -> u32 {
    place >> lowest & ((1 << count) - 1)
}
