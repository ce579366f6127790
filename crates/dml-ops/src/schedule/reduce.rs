//! Kernels that make one element of every row.
//!
//! The dimensions through which the output does not go are those of rows. Each invocation has a row, so
//! rows longer than [`MOST_OF_A_ROW`] elements, and those that no descriptor shows, are reduced in parts
//! first. Where several dimensions of rows do not follow each other in memory, one is reduced after the other.
//! Parts are as long on every device that shows them, so that all add in one order.

use dml_core::Error;
use dml_core::plan::Slot;
use dml_spirv::element_wise::{self, Access, DIMENSIONS};
use dml_spirv::reduce::Reduce;

use super::Schedule;
use crate::ir::Reduction;
use crate::ir::space::{IterationSpace, Operand};
use crate::schedule::cost;
use crate::schedule::dispatches::Dispatches;
use crate::schedule::piece::{Piece, Taken};

/// A longer row is reduced in parts of [`PART`] elements: a loop has at most 65,535 iterations on lavapipe,
/// and a device more cores than a tensor may have rows.
const MOST_OF_A_ROW: u32 = 8192;
const PART: u32 = 4096;

const LAST: usize = DIMENSIONS - 1;
const ROWS_OF_GRIDS: usize = LAST - 1;

impl Schedule<'_> {
    /// Adds the steps that reduce `space`, whose output stands still where rows go on.
    ///
    /// # Errors
    /// As [`Dispatches::push`].
    pub(super) fn reduce(
        &mut self,
        space: IterationSpace<Slot>,
        reduction: &Reduction,
    ) -> Result<(), Error> {
        let space = space.coalesced();
        let is_of_rows = |at: &usize| space.sizes[*at] > 1 && space.output.strides[*at] == 0;
        let of_rows: Vec<usize> = (0..DIMENSIONS).filter(is_of_rows).collect();
        // What lies closest together is reduced first.
        let nearest = |at: &&usize| space.inputs[0].strides[**at].unsigned_abs();
        let Some(row) = of_rows.iter().min_by_key(nearest) else {
            return self.rows_of_one(space, reduction);
        };
        let space = space.with_last(*row);
        if of_rows.len() == 1 {
            return self.rows(space, reduction);
        }
        let mut sizes = space.sizes;
        sizes[LAST] = reduction.width();
        let partial = self.partial(reduction, sizes);
        for (at, of_part) in reduction.of_parts() {
            let mut output = Operand { base: partial.base + at, ..partial.clone() };
            output.strides[LAST] = 0;
            self.rows(IterationSpace { output, ..space.clone() }, &of_part)?;
        }
        let (inputs, output) = (vec![partial], space.output);
        self.reduce(IterationSpace { sizes, inputs, output }, &reduction.rest())
    }

    /// Rows of one element are reduced as well: what is the sum of one must be its sum.
    fn rows_of_one(
        &mut self,
        space: IterationSpace<Slot>,
        reduction: &Reduction,
    ) -> Result<(), Error> {
        match space.sizes.iter().position(|size| *size == 1) {
            Some(row) => self.rows(space.with_last(row), reduction),
            None => space.outermost().try_for_each(|it| self.rows_of_one(it, reduction)),
        }
    }

    /// Place for so many elements, the last dimension's next to each other.
    fn partial(&mut self, reduction: &Reduction, sizes: [u32; DIMENSIONS]) -> Operand<Slot> {
        let count = sizes.iter().map(|size| u64::from(*size)).product();
        self.temporary(reduction.reducer.width(), count).packed(&sizes)
    }

    /// Reduces rows, which are the last dimension.
    fn rows(&mut self, space: IterationSpace<Slot>, reduction: &Reduction) -> Result<(), Error> {
        let mut dispatches = self.dispatches();
        let alignment = dispatches.alignment();
        let placements: Vec<_> = space.stored().map(|it| it.placement(alignment)).collect();
        let boxes = dispatches.boxes(space.sizes, &placements)?;
        let (size, most) = (space.sizes[LAST], boxes.most()[LAST]);
        if size > MOST_OF_A_ROW || most < size {
            return match space.sizes.iter().position(|size| *size == 1) {
                Some(dimension) => self.parts(space, (dimension, most.min(PART)), reduction),
                None => space.outermost().try_for_each(|it| self.rows(it, reduction)),
            };
        }
        for part in boxes {
            let piece = Piece::of(&space, &part, alignment);
            self.dispatch_rows(&piece, reduction, None, &mut dispatches)?;
        }
        self.add(dispatches)
    }

    /// Adds the steps that reduce grids: the last two dimensions are those of their rows and columns, of which
    /// each grid has as many as the elements of the input `sizes` say. These are of 64 bits, the columns in the
    /// low word, and neither is more than the space has.
    ///
    /// # Errors
    /// As [`Dispatches::push`].
    pub(super) fn reduce_grids(
        &mut self,
        space: &IterationSpace<Slot>,
        sizes: usize,
        reduction: &Reduction,
    ) -> Result<(), Error> {
        let mut dispatches = self.dispatches();
        let alignment = dispatches.alignment();
        let placements: Vec<_> = space.stored().map(|it| it.placement(alignment)).collect();
        let boxes = dispatches.boxes(space.sizes, &placements)?;
        if boxes.most()[ROWS_OF_GRIDS..] != space.sizes[ROWS_OF_GRIDS..] {
            let mut grid = [1; DIMENSIONS];
            grid[ROWS_OF_GRIDS..].copy_from_slice(&space.sizes[ROWS_OF_GRIDS..]);
            let most = placements.iter().map(|it| it.window(grid)).max().unwrap_or_default();
            return Err(dispatches.beyond_window(most));
        }
        for part in boxes {
            let piece = Piece::of(space, &part, alignment);
            self.dispatch_rows(&piece, reduction, Some(sizes), &mut dispatches)?;
        }
        self.add(dispatches)
    }

    /// Reduces rows in parts of `length`, the parts of a row in a dimension that is not used, and then these.
    fn parts(
        &mut self,
        space: IterationSpace<Slot>,
        (dimension, length): (usize, u32),
        reduction: &Reduction,
    ) -> Result<(), Error> {
        if length <= reduction.width() && space.inputs[0].strides[LAST] == 1 {
            // Parts would be no fewer than their elements.
            return Err(self.dispatches().beyond_window(
                u64::from(reduction.width() + 1) * u64::from(space.inputs[0].width.bytes()),
            ));
        }
        let (count, rest) = (space.sizes[LAST] / length, space.sizes[LAST] % length);
        let mut sizes = space.sizes;
        let all = count + u32::from(rest > 0);
        sizes[LAST] = all * reduction.width();
        let partial = self.partial(reduction, sizes);
        let ranges = [(0, count, length), (count, 1, rest)];
        for (first, count, elements) in ranges.into_iter().filter(|(.., elements)| *elements > 0) {
            // An operand that a part goes through by so many elements.
            let by_parts = |operand: &Operand<Slot>, elements: u32| {
                let step = operand.strides[LAST] * i64::from(elements);
                let mut moved = operand.clone();
                moved.base += i64::from(first) * step;
                moved.strides[dimension] = step;
                moved
            };
            let inputs = space.inputs.iter().map(|it| by_parts(it, length)).collect();
            let mut output = by_parts(&partial, 1);
            output.strides[LAST] = 0;
            let mut parts = IterationSpace { sizes: space.sizes, inputs, output };
            (parts.sizes[dimension], parts.sizes[LAST]) = (count, elements);
            for (at, of_part) in reduction.of_parts() {
                let mut parts = parts.clone();
                parts.output.base += at * i64::from(all);
                self.rows(parts, &of_part)?;
            }
        }
        let rest = IterationSpace { sizes, inputs: vec![partial], output: space.output };
        self.rows(rest, &reduction.rest())
    }

    fn dispatch_rows(
        &mut self,
        piece: &Piece<'_>,
        reduction: &Reduction,
        grids: Option<usize>,
        dispatches: &mut Dispatches<'_>,
    ) -> Result<(), Error> {
        let taken: Vec<Taken> = piece.operands().map(|it| piece.take(it)).collect();
        let (mut record, inputs, output) = piece.record(&taken, &reduction.parameters);
        if grids.is_some() {
            record.sizes[ROWS_OF_GRIDS] = 1;
        }
        let kernel = Reduce {
            program: reduction.program.clone(),
            reducer: reduction.reducer,
            last: reduction.last.clone(),
            inputs,
            grids,
            // One element of each row.
            output: element_wise::Operand { access: Access::Ragged, ..output },
            outer_dimensions: record.outer_dimensions(),
        };
        let block = record.words(kernel.skeleton_dimensions());
        let variant = kernel.variant(dispatches.target().native_types());
        // Each element is joined to what its row has so far.
        let of_an_element = 1 + reduction.program.steps.len() as u64;
        let of_elements = cost::elements(&piece.sizes).saturating_mul(of_an_element);
        let of_rows = record.rows().saturating_mul(reduction.last.steps.len() as u64);
        let work = (record.rows(), of_elements.saturating_add(of_rows));
        piece.dispatch(variant, &block, work, dispatches, &mut self.constants)
    }
}
