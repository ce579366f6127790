//! Moves: elements are copied unchanged, as regions of a copy where rows are long, else by a kernel, which
//! reads and writes any strides. On CPU drivers regions take a fraction of a kernel's time per byte; with
//! rows of 512 bytes both take as long.

use dml_core::plan::{Copy, CopyRegion, Repeat, Slot, Step};
use dml_core::{Error, Strategy};
use dml_spirv::element_wise::DIMENSIONS;

use super::Schedule;
use super::dispatches::{MAX_LOOPS, MAX_REGIONS};
use crate::TransferUse;
use crate::ir::Computation;
use crate::ir::space::{IterationSpace, Operand};

impl Schedule<'_> {
    /// Adds the steps that copy the only input of a space.
    ///
    /// # Errors
    /// As [`Self::map`].
    pub(super) fn move_elements(&mut self, space: IterationSpace<Slot>) -> Result<(), Error> {
        match self.regions(&space) {
            Some(copy) => {
                self.strategy = Strategy::RowCopies;
                self.extend(self.origin.field, vec![Step::Copy(copy)])
            }
            None => self.map(space, &Computation::copy()),
        }
    }

    /// A space as a copy, where that is possible, and preferred or faster.
    fn regions(&self, space: &IterationSpace<Slot>) -> Option<Copy> {
        let input = space.inputs.first()?;
        let (source, destination) = (input.buffer?, space.output.buffer?);
        let is_constant = source == Slot::Constants;
        if is_constant || self.target.transfer == TransferUse::StorageOnly {
            return None;
        }
        let rows = Rows::of(space, input);
        let tuning = self.target.tuning;
        let suits = match tuning.strategy {
            Some(strategy) => strategy == Strategy::RowCopies,
            None => {
                rows.bytes >= u64::from(tuning.row_bytes / 2)
                    && rows.count() <= tuning.most_regions.into()
            }
        };
        let loops = rows.loops.iter().map(|it| u64::from(it.count)).product::<u64>();
        if !suits || rows.count() > MAX_REGIONS || loops > MAX_LOOPS {
            return None;
        }
        let regions = rows.regions([input.base, space.output.base]);
        Some(Copy { source, destination, regions })
    }
}

/// The coordinates of one dimension.
#[derive(Clone, Copy)]
struct Walk {
    count: u32,
    /// The strides in elements.
    input: i64,
    output: i64,
}

/// The rows of a space, whose elements are adjacent in both tensors.
struct Rows {
    element: i64,
    /// The bytes of one row.
    bytes: u64,
    /// The dimension whose rows are repeats of one region.
    repeated: Walk,
    /// The other dimensions.
    loops: Vec<Walk>,
}

impl Rows {
    fn of(space: &IterationSpace<Slot>, input: &Operand<Slot>) -> Self {
        let element = space.output.width.bytes();
        let walk = |at: usize| Walk {
            count: space.sizes[at],
            input: input.strides[at],
            output: space.output.strides[at],
        };
        let walks = (0..DIMENSIONS).map(walk).filter(|it| it.count > 1);
        let (rows, mut loops): (Vec<Walk>, Vec<Walk>) =
            walks.partition(|walk| [walk.input, walk.output] == [1, 1]);
        // Two dimensions with stride 1 would have been merged, or have one element.
        let elements: u64 = rows.iter().map(|row| u64::from(row.count)).product();
        let longest = (0..loops.len()).max_by_key(|at| loops[*at].count);
        let repeated = longest.map(|at| loops.remove(at));
        Self {
            element: element.into(),
            bytes: elements * u64::from(element),
            repeated: repeated.unwrap_or(Walk { count: 1, input: 0, output: 0 }),
            loops,
        }
    }

    fn count(&self) -> u64 {
        let walks = self.loops.iter().chain([&self.repeated]);
        walks.map(|walk| u64::from(walk.count)).product()
    }

    /// A region for each coordinate of the other dimensions; `first` are the first elements of input and output.
    fn regions(&self, first: [i64; 2]) -> Vec<CopyRegion> {
        let starts = self.loops.iter().fold(vec![first], |starts, walk| {
            let along = |[input, output]: [i64; 2]| {
                let at = move |by| [input + by * walk.input, output + by * walk.output];
                (0..i64::from(walk.count)).map(at)
            };
            starts.into_iter().flat_map(along).collect()
        });
        let repeat = Repeat {
            count: self.repeated.count,
            source_stride: self.repeated.input * self.element,
            destination_stride: self.repeated.output * self.element,
            growth: 0,
        };
        let region = |start: [i64; 2]| {
            // Every element is within its tensor.
            let [input, output] = start.map(|at| (at * self.element).cast_unsigned());
            CopyRegion { repeat, ..CopyRegion::once(input, output, self.bytes) }
        };
        starts.into_iter().map(region).collect()
    }
}
