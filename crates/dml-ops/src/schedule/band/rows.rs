//! Row copies: every row, or every part of a row that has one source, is a region of a copy.
//!
//! Padding is never touched, elements narrower than a word need no special case, and no region waits for
//! another one. Elements that are not the input's come from runs in the constants. Rows with equal regions
//! are one loop: a matrix takes a few.

use std::ops::Range;

use dml_core::plan::{Copy, CopyRegion, Repeat, Slot, Step};

use super::steps::{BandedOutput, Source};
use crate::schedule::constants::Constants;

/// Rows are copied in parts of at most this many bytes, so that the runs in the constants are short
/// and stay in a cache.
const PART_BYTES: u32 = 32 << 10;

/// A range of diagonals that is inside or outside of the band.
struct Inner {
    diagonals: Range<i64>,
    /// Whether these diagonals have the value, and all others do not.
    is_value: bool,
}

/// A range of columns of one matrix.
struct ColumnRange {
    /// The first element in the output, counted from its start.
    output: i64,
    /// The first element in the input, counted from its start.
    input: i64,
    /// The diagonal of the first element in the first row; the next row's is one less.
    diagonal: i64,
    width: i64,
    height: i64,
}

/// A run of columns in some rows of a part, with equal sources and moving edges.
struct Columns {
    rows: Range<i64>,
    /// The edge in the first of the rows.
    start: Edge,
    end: Edge,
}

/// A column that is fixed, or moves to the right by one with each row.
#[derive(Clone, Copy)]
struct Edge {
    at: i64,
    moves: bool,
}

impl BandedOutput {
    /// The largest number of regions of row copies, and of the loops that a plan keeps of them.
    pub(super) fn row_copies(&self) -> (u64, u64) {
        let [size0, size1, height, width] = self.batches.sizes.map(u64::from);
        let parts = size0 * size1 * width.div_ceil(self.part_width().cast_unsigned());
        // At most three runs in each row, and five groups of rows.
        (parts.saturating_mul(height * 3), parts.saturating_mul(15))
    }

    /// Writes the value in the band, and zeros in every other element.
    pub(super) fn rows_on_zeros(&self, constants: &mut Constants) -> Vec<Step> {
        let inner = self.inner();
        let most = self.part_width();
        let length = (inner.diagonals.end - inner.diagonals.start).min(most);
        let run = |is_value: bool, count: i64| self.run(is_value, count);
        let pattern =
            [run(!inner.is_value, most), run(inner.is_value, length), run(!inner.is_value, most)];
        let at = constants.add(&pattern.concat()).start;
        let mut regions = Vec::new();
        for part in self.parts([0; 4]) {
            self.slide(&part, &inner, at, &mut regions);
        }
        vec![copy(Slot::Constants, regions)]
    }

    /// Writes the value in the band, and in every other element that of the source; without a source, nothing.
    pub(super) fn rows_on(&self, source: Option<&Source>, constants: &mut Constants) -> Vec<Step> {
        let inner = self.inner();
        let (mut kept, mut values) = (Vec::new(), Vec::new());
        let run = self.run(true, self.part_width());
        let at = constants.add(&run).start;
        for part in self.parts(source.map_or([0; 4], |source| source.batches.strides)) {
            for (columns, is_inner) in part.columns(&inner) {
                if is_inner == inner.is_value {
                    values.push(self.region(&part, &columns, None, at));
                } else if let Some(source) = source {
                    kept.push(self.region(&part, &columns, Some(source), 0));
                }
            }
        }
        let source = source.map_or(Slot::Constants, |source| source.slot);
        let steps = [(source, kept), (Slot::Constants, values)].into_iter();
        steps.filter(|(_, regions)| !regions.is_empty()).map(|(from, it)| copy(from, it)).collect()
    }

    /// The band if it has one part, else the diagonals between its two parts.
    fn inner(&self) -> Inner {
        let range = |start: u32, end: u32| i64::from(start)..i64::from(end);
        match self.band.parts() {
            [] => Inner { diagonals: 0..0, is_value: true },
            [first, .., last] => Inner { diagonals: range(first.end, last.start), is_value: false },
            [part] => Inner { diagonals: range(part.start, part.end), is_value: true },
        }
    }

    /// The width of parts, in elements.
    fn part_width(&self) -> i64 {
        let [.., width] = self.batches.sizes;
        width.min(PART_BYTES / self.element_width.bytes()).into()
    }

    fn run(&self, is_value: bool, count: i64) -> Vec<u8> {
        let bits = if is_value { self.value } else { 0 };
        let element = &bits.to_le_bytes()[..self.element_width.bytes() as usize];
        element.repeat(usize::try_from(count).unwrap_or_default())
    }

    fn parts(&self, input_strides: [u32; 4]) -> impl Iterator<Item = ColumnRange> + '_ {
        let [size0, size1, height, width] = self.batches.sizes.map(i64::from);
        let most = self.part_width();
        let places = (0..size0).flat_map(move |at0| {
            let columns = move || (0..width).step_by(usize::try_from(most).unwrap_or(1));
            (0..size1).flat_map(move |at1| columns().map(move |column| [at0, at1, 0, column]))
        });
        places.map(move |place| {
            let element = |strides: [u32; 4]| -> i64 {
                place.iter().zip(strides).map(|(at, stride)| at * i64::from(stride)).sum()
            };
            let [.., column] = place;
            ColumnRange {
                output: element(self.batches.strides),
                input: element(input_strides),
                diagonal: height - 1 + column,
                width: most.min(width - column),
                height,
            }
        })
    }

    /// Copies every row of a part from a window into the pattern at `at` of the constants: elements around
    /// `inner`, of `inner` or as many of them as a row can hold, and again elements around it.
    fn slide(&self, part: &ColumnRange, inner: &Inner, at: u64, regions: &mut Vec<CopyRegion>) {
        let Range { start, end } = inner.diagonals;
        let most = self.part_width();
        let length = (end - start).min(most);
        // The diagonals of a row's first element at which the window is after `inner`, over its end, within
        // it, over its start, and before it.
        let over_start = if length == end - start { end } else { start + length - part.width + 1 };
        let over_end = (end - part.width + 1).max(over_start);
        let stretches = [
            (end, i64::MAX, most + length, false),
            (over_end, end, most + length - end, true),
            (over_start, over_end, most, false),
            (start - part.width + 1, over_start, most - start, true),
            (i64::MIN, start - part.width + 1, 0, false),
        ];
        for (from, to, window, moves) in stretches {
            let row = |diagonal: i64| {
                part.diagonal.saturating_sub(diagonal).saturating_add(1).clamp(0, part.height)
            };
            let rows = row(to)..row(from);
            if rows.is_empty() {
                continue;
            }
            let window = if moves { window + part.diagonal - rows.start } else { window };
            let strides = [if moves { -1 } else { 0 }, self.row_stride()];
            let size = (part.width, 0);
            let output = part.output + rows.start * self.row_stride();
            regions.push(self.repeated(at, [window, output], strides, size, &rows));
        }
    }

    /// The region of some columns: from the source, or from the run at `at` of the constants.
    fn region(
        &self,
        part: &ColumnRange,
        columns: &Columns,
        source: Option<&Source>,
        at: u64,
    ) -> CopyRegion {
        let Columns { rows, start, end } = columns;
        let first = |from: i64, row_stride: i64| from + rows.start * row_stride + start.at;
        let moved = |row_stride: i64| row_stride + i64::from(start.moves);
        let output = first(part.output, self.row_stride());
        let (input, input_moved) = source.map_or((0, 0), |source| {
            let row_stride = i64::from(source.batches.strides[2]);
            (first(part.input, row_stride), moved(row_stride))
        });
        let growth = i64::from(end.moves) - i64::from(start.moves);
        let strides = [input_moved, moved(self.row_stride())];
        self.repeated(at, [input, output], strides, (end.at - start.at, growth), rows)
    }

    /// A loop over rows. All arguments except `at` are in elements.
    fn repeated(
        &self,
        at: u64,
        [source, destination]: [i64; 2],
        [source_stride, destination_stride]: [i64; 2],
        (size, growth): (i64, i64),
        rows: &Range<i64>,
    ) -> CopyRegion {
        let width = i64::from(self.element_width.bytes());
        let bytes = |elements: i64| (elements * width).cast_unsigned();
        let (from, to) = (at + bytes(source), bytes(destination));
        let count = rows.end - rows.start;
        if growth == 0 && source_stride == size && destination_stride == size {
            return CopyRegion::once(from, to, bytes(size * count));
        }
        let repeat = Repeat {
            count: u32::try_from(count).expect("a matrix has less than 2^32 rows"),
            source_stride: source_stride * width,
            destination_stride: destination_stride * width,
            growth: growth * width,
        };
        CopyRegion { source_offset: from, destination_offset: to, size: bytes(size), repeat }
    }

    fn row_stride(&self) -> i64 {
        self.batches.strides[2].into()
    }
}

impl ColumnRange {
    /// Every element once, with whether it is in `inner`.
    fn columns(&self, inner: &Inner) -> Vec<(Columns, bool)> {
        let Range { start, end } = inner.diagonals;
        // The row in which each edge is at column 0.
        let starts = [start, end].map(|diagonal| self.diagonal - diagonal);
        // An edge moves while it is past the first column and not yet past the last one.
        let mut rows: Vec<i64> = starts
            .iter()
            .flat_map(|row| [row + 1, row + self.width])
            .chain([0, self.height])
            .map(|row| row.clamp(0, self.height))
            .collect();
        rows.sort_unstable();
        rows.dedup();
        let fixed = |at| Edge { at, moves: false };
        let stretches = rows.windows(2).flat_map(|rows| {
            let edge = |row: i64| {
                let at = rows[0] - row;
                Edge { at: at.clamp(0, self.width), moves: 0 < at && at < self.width }
            };
            let [first, second] = starts.map(edge);
            let rows = rows[0]..rows[1];
            let columns = |start, end| Columns { rows: rows.clone(), start, end };
            [
                (columns(fixed(0), first), false),
                (columns(first, second), true),
                (columns(second, fixed(self.width)), false),
            ]
        });
        stretches.filter(|(columns, _)| columns.start.at < columns.end.at).collect()
    }
}

fn copy(source: Slot, regions: Vec<CopyRegion>) -> Step {
    Step::Copy(Copy { source, destination: Slot::Output(0), regions })
}
