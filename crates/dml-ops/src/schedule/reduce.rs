//! Kernels that make one element of every row.
//!
//! The dimensions through which the output does not go are those of rows. The order in which a row's elements are joined
//! is that of [`dml_spirv::reduce`]: any part of it whose length is a block times a power of two, and that begins at a
//! multiple of its length, is a subtree. So rows that are too long for one dispatch, and those that no descriptor shows,
//! are reduced in such parts, and then the states of these, in the same order on every device.
//!
//! Rows that are columns of a matrix, which a vector is multiplied by, are added up some at a time (`reduce/columns.rs`).
//! A row of several dimensions that do not follow each other in memory is written one element after the other first.

mod columns;

use dml_core::kernel::can_run;
use dml_core::plan::Slot;
use dml_core::{Error, Strategy};
use dml_spirv::element_wise::{self, Access, DIMENSIONS, Quads};
use dml_spirv::reduce::{Form, MOST_BLOCKS, ROUNDED_SUM_F32, Reduce};

use columns::are_columns;

use super::Schedule;
use crate::Target;
use crate::ir::space::{IterationSpace, Operand};
use crate::ir::{Computation, Reduction, RowOrder};
use crate::schedule::cost;
use crate::schedule::dispatches::Dispatches;
use crate::schedule::piece::{Piece, Taken, Work};

/// Parts of rows: so that a device has more of them than it has cores.
const PART: u32 = 4096;
/// Parts of few rows whose elements are far from each other, where an invocation has each: on GPUs, and of products on
/// CPU drivers, where each row of a matrix may be in another page: the TLB holds so many.
const PART_OF_STRIDED: u32 = 256;
/// Rows that are not longer, such as most windows, are an invocation's: a quad for each lane of a block at most.
const SHORT_ROW: u32 = 16;
/// Beyond so many rows an invocation for each keeps a GPU busy.
const MANY_ROWS: u64 = 1 << 16;

const LAST: usize = DIMENSIONS - 1;
const LAST_BUT_ONE: usize = LAST - 1;
const ROWS_OF_GRIDS: usize = LAST - 1;

/// A row of several dimensions goes along those in which the output stands still.
fn is_of_rows(space: &IterationSpace<Slot>, dimension: usize) -> bool {
    space.sizes[dimension] > 1 && space.output.strides[dimension] == 0
}

impl Schedule<'_> {
    /// Adds the steps that reduce `space`, whose output stands still where rows go on.
    ///
    /// # Errors
    /// As [`Dispatches::push`].
    pub(super) fn reduce(
        &mut self,
        space: IterationSpace<Slot>,
        order: RowOrder,
        reduction: &Reduction,
    ) -> Result<(), Error> {
        let is_nested = order == RowOrder::Nested;
        let space = space.coalesced_where(|stride| stride != 0 || !is_nested);
        let of_rows: Vec<usize> = (0..DIMENSIONS).filter(|at| is_of_rows(&space, *at)).collect();
        match of_rows.as_slice() {
            [] => self.rows_of_one(space, reduction),
            [row] => self.rows(space.with_last(*row), reduction),
            [.., innermost] if is_nested => self.innermost_first(space, *innermost, reduction),
            [LAST_BUT_ONE, LAST] => match self.rows_of_blocks(&space) {
                Some(rows) => self.rows(rows, reduction),
                None => self.rows_one_after_the_other(&space, reduction),
            },
            _ => self.rows_one_after_the_other(&space, reduction),
        }
    }

    /// Merges a reduction of two dimensions into one of a single dimension of blocks, where some operands, such as scales, have one
    /// element for each block; `None` where that is not so, or where a descriptor shows no whole row of each operand.
    fn rows_of_blocks(&self, space: &IterationSpace<Slot>) -> Option<IterationSpace<Slot>> {
        // Every part of a row begins with a block.
        let rows = space.with_blocks(PART_OF_STRIDED)?;
        let dispatches = self.dispatches();
        let placements: Vec<_> =
            rows.stored().map(|it| it.placement(dispatches.alignment())).collect();
        let boxes = dispatches.boxes(rows.sizes, &placements).ok()?;
        (boxes.most()[LAST] == rows.sizes[LAST]).then_some(rows)
    }

    /// Reduces one dimension of rows, and then the others.
    fn innermost_first(
        &mut self,
        space: IterationSpace<Slot>,
        innermost: usize,
        reduction: &Reduction,
    ) -> Result<(), Error> {
        let mut sizes = space.sizes;
        sizes[innermost] = 1;
        let partial = self.partial(reduction, sizes);
        let (elements, ends) = reduction.divided(&space.inputs);
        let of_parts =
            IterationSpace { inputs: elements.to_vec(), output: partial.clone(), ..space.clone() };
        self.rows(of_parts.with_last(innermost), &reduction.of_parts())?;
        let (inputs, output) = ([&[partial], ends].concat(), space.output.clone());
        let rest = IterationSpace { sizes, inputs, output };
        self.reduce(rest, RowOrder::Nested, &reduction.rest())
    }

    /// Writes what is reduced one element after the other, and reduces that.
    fn rows_one_after_the_other(
        &mut self,
        space: &IterationSpace<Slot>,
        reduction: &Reduction,
    ) -> Result<(), Error> {
        let count = space.sizes.iter().map(|size| u64::from(*size)).product();
        let packed = self.temporary(reduction.reducer.width(), count).packed(&space.sizes);
        let computation = Computation {
            program: reduction.program.clone(),
            packed: None,
            parameters: reduction.parameters.clone(),
        };
        let (elements, ends) = reduction.divided(&space.inputs);
        let (sizes, inputs) = (space.sizes, elements.to_vec());
        self.map(IterationSpace { sizes, inputs, output: packed.clone() }, &computation)?;
        let (inputs, output) = ([&[packed], ends].concat(), space.output.clone());
        let rows = IterationSpace { sizes: space.sizes, inputs, output };
        let reduction = Reduction { program: Default::default(), ..reduction.clone() };
        self.reduce(rows, RowOrder::Flattened, &reduction)
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

    /// Place for what parts of rows become, the last dimension's next to each other.
    fn partial(&mut self, reduction: &Reduction, sizes: [u32; DIMENSIONS]) -> Operand<Slot> {
        let count = sizes.iter().map(|size| u64::from(*size)).product();
        self.temporary(reduction.reducer.of_parts().output_width(), count).packed(&sizes)
    }

    /// Reduces rows, which are the last dimension.
    fn rows(&mut self, space: IterationSpace<Slot>, reduction: &Reduction) -> Result<(), Error> {
        let mut dispatches = self.dispatches();
        let alignment = dispatches.alignment();
        let placements: Vec<_> = space.stored().map(|it| it.placement(alignment)).collect();
        let boxes = dispatches.boxes(space.sizes, &placements)?;
        let (size, shown) = (space.sizes[LAST], boxes.most()[LAST]);
        let block = reduction.elements.block_length();
        let at_once = most_at_once(&space, reduction, self.target);
        if size > at_once || shown < size {
            let elements = reduction.divided(&space.inputs).0;
            let is_packed = elements.iter().all(|it| it.strides[LAST] == 1);
            if shown < block.min(size) && !is_packed {
                return self.rows_one_after_the_other(&space, reduction);
            }
            let length = part_length(block, at_once.min(shown));
            return match space.sizes.iter().position(|size| *size == 1) {
                Some(dimension) => self.parts(space, dimension, length, reduction),
                None => space.outermost().try_for_each(|it| self.rows(it, reduction)),
            };
        }
        if reduction.ends > 0 && are_columns(reduction.divided(&space.inputs).0, &space) {
            return self.rows_before_ends(&space, reduction);
        }
        if self.columns(&space, reduction)? {
            return Ok(());
        }
        for part in boxes {
            let piece = Piece::of(&space, &part, alignment);
            self.dispatch_rows(&piece, reduction, None, &mut dispatches)?;
        }
        self.add_dispatches(dispatches)
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
        self.add_dispatches(dispatches)
    }

    /// Reduces rows, and computes what becomes of that after it: where a kernel for rows has no room for ends.
    fn rows_before_ends(
        &mut self,
        space: &IterationSpace<Slot>,
        reduction: &Reduction,
    ) -> Result<(), Error> {
        let mut sizes = space.sizes;
        sizes[LAST] = 1;
        let (elements, ends) = reduction.divided(&space.inputs);
        let count = cost::elements(&sizes);
        let reduced = self.temporary(reduction.reducer.output_width(), count).packed(&sizes);
        let (inputs, output) = (elements.to_vec(), reduced.clone());
        let alone = Reduction { last: Default::default(), ends: 0, ..reduction.clone() };
        self.rows(IterationSpace { sizes: space.sizes, inputs, output }, &alone)?;
        let (program, parameters) = (reduction.last.clone(), reduction.parameters.clone());
        let (inputs, output) = ([&[reduced], ends].concat(), space.output.clone());
        let computation = Computation { program, packed: None, parameters };
        self.map(IterationSpace { sizes, inputs, output }, &computation)
    }

    /// Reduces rows in parts of `length`, the parts of a row in a dimension that is not used, and then these.
    fn parts(
        &mut self,
        space: IterationSpace<Slot>,
        dimension: usize,
        length: u32,
        reduction: &Reduction,
    ) -> Result<(), Error> {
        if length < 2 {
            // Parts would be no fewer than their elements.
            let bytes = space.inputs[0].width.bytes_of(2);
            return Err(self.dispatches().beyond_window(bytes));
        }
        let (count, rest) = (space.sizes[LAST] / length, space.sizes[LAST] % length);
        let mut sizes = space.sizes;
        sizes[LAST] = count + u32::from(rest > 0);
        let partial = self.partial(reduction, sizes);
        let (elements_of_rows, ends) = reduction.divided(&space.inputs);
        let ranges = [(0, count, length), (count, 1, rest)];
        for (first, count, elements) in ranges.into_iter().filter(|(.., elements)| *elements > 0) {
            // An operand that a part goes through by so many elements.
            let by_parts = |operand: &Operand<Slot>, elements: u32| {
                let step = operand.strides[LAST] * i64::from(elements >> operand.repeats);
                let mut moved = operand.clone();
                moved.base += i64::from(first) * step;
                moved.strides[dimension] = step;
                moved
            };
            let inputs = elements_of_rows.iter().map(|it| by_parts(it, length)).collect();
            let mut output = by_parts(&partial, 1);
            output.strides[LAST] = 0;
            let mut parts = IterationSpace { sizes: space.sizes, inputs, output };
            (parts.sizes[dimension], parts.sizes[LAST]) = (count, elements);
            self.rows(parts, &reduction.of_parts())?;
        }
        let inputs = [&[partial], ends].concat();
        self.rows(IterationSpace { sizes, inputs, output: space.output }, &reduction.rest())
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
        let blocks = piece.inner().div_ceil(reduction.elements.block_length());
        let kernel = |form| Reduce {
            program: reduction.program.clone(),
            reducer: reduction.reducer,
            last: reduction.last.clone(),
            ends: reduction.ends,
            inputs: inputs.clone(),
            elements: reduction.elements,
            form,
            grids,
            // One element of each row.
            output: element_wise::Operand { access: Access::Ragged, ..output },
            outer_dimensions: record.outer_dimensions(),
            quads: if grids.is_none() { piece.quads(&record) } else { Quads::default() },
        };
        let target = dispatches.target();
        let types = target.native_types();
        let is_one_block = blocks == 1 || reduction.reducer.has_any_order();
        let alone = kernel(if is_one_block { Form::OneBlock } else { Form::Blocks });
        // A factor that has neighbours is worth nothing where the other one has none.
        let is_whole = !alone.adds_words() && inputs.iter().any(|it| it.access == Access::Whole);
        let may_share = grids.is_none()
            && (is_whole || piece.are_neighbours())
            && has_groups(target, piece.inner());
        let group = may_share.then(|| kernel(Form::Group));
        let group = group.filter(|it| can_run(it.variant(types), target.capabilities));
        let kernel = group.unwrap_or(alone);
        let block = record.words(kernel.skeleton_dimensions());
        let of_a_group = kernel.form.rows_of_a_group(blocks);
        if of_a_group.is_some() {
            self.strategy = Strategy::RowGroups;
        }
        // Each element is joined to what its row has so far.
        let of_an_element = 1 + reduction.program.steps.len() as u64;
        let of_elements = cost::elements(&piece.sizes).saturating_mul(of_an_element);
        let of_rows = record.rows().saturating_mul(reduction.last.steps.len() as u64);
        let operations = of_elements.saturating_add(of_rows);
        let work = Work { count: record.rows(), operations, of_a_group };
        piece.dispatch(kernel.variant(types), &block, work, dispatches, &mut self.constants)
    }
}

/// Whether a work group joins the elements of a row of such a length.
pub(super) fn has_groups(target: &Target<'_>, length: u32) -> bool {
    match target.tuning.strategy {
        Some(strategy) => strategy == Strategy::RowGroups,
        None => target.tuning.shared_tiles && length > SHORT_ROW,
    }
}

/// How many elements of a row one dispatch joins.
fn most_at_once(space: &IterationSpace<Slot>, reduction: &Reduction, target: &Target<'_>) -> u32 {
    let is_of_products = *reduction.reducer == ROUNDED_SUM_F32;
    let most = MOST_BLOCKS * reduction.elements.block_length();
    let rows = cost::elements(&space.sizes[..LAST]);
    let is_strided = space.inputs.iter().any(|it| it.strides[LAST].unsigned_abs() > 1);
    if is_strided && rows < MANY_ROWS && (target.tuning.shared_tiles || is_of_products) {
        return PART_OF_STRIDED.min(most);
    }
    most
}

/// The length of parts of at most so many elements: a block times a power of two, so that parts are subtrees. What shows
/// no block has parts as long as it shows, which are joined in an order of their own.
fn part_length(block: u32, most: u32) -> u32 {
    let most = most.min(PART);
    if most < block { most } else { block << (most / block).ilog2() }
}
