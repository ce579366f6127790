//! Kernels that reduce every row to one element.
//!
//! Rows go along the dimensions in which the output's stride is 0. The order in which a row's elements are
//! joined is that of [`dml_spirv::reduce`]: a part whose length is a block times a power of two, and which
//! begins at a multiple of its length, is a subtree. So rows that are too long for one dispatch or for a
//! descriptor are reduced in such parts, and then the parts' states are, in the same order on every device.
//!
//! Rows that are columns of a matrix, which is multiplied by a vector, are summed several at a time
//! (`reduce/columns.rs`), and so are neighbouring rows with a common factor (`reduce/neighbours.rs`). Rows of several dimensions that are not contiguous are first written to contiguous
//! memory.

mod column_groups;
mod columns;
mod ends;
mod neighbours;
mod parts;

use dml_core::kernel::can_run;
use dml_core::plan::Slot;
use dml_core::{Error, Strategy};
use dml_spirv::element_wise::{self, AccessPattern, DIMENSIONS, Quads};
use dml_spirv::reduce::{Elements, Form, MOST_BLOCKS, ROUNDED_SUM_F32, Reduce, SEGMENT};

use column_groups::packed_by_columns;
use columns::are_columns;
use parts::Parts;

use super::Schedule;
use crate::Target;
use crate::ir::space::{IterationSpace, Operand};
use crate::ir::{Computation, Reduction, RowOrder};
use crate::schedule::cost;
use crate::schedule::dispatches::Dispatches;
use crate::schedule::piece::{KernelAccess, Piece, Work};

/// The most elements of a part of a row: so that there are more parts than a device has cores.
const PART: u32 = 4096;
/// The most elements of a part of a strided row, where there are few rows and an invocation reduces each: on
/// GPUs, and for products on CPU drivers, where each row of a matrix may be in another page, and the TLB has
/// about as many entries.
const PART_OF_STRIDED: u32 = 256;
/// The longest rows, such as most windows, that a single invocation reduces: a quad for each lane of a block.
const SHORT_ROW: u32 = 16;
/// With more rows than this, one invocation for each of them keeps a GPU busy.
const MANY_ROWS: u64 = 1 << 16;

const LAST: usize = DIMENSIONS - 1;
const LAST_BUT_ONE: usize = LAST - 1;
const ROWS_OF_GRIDS: usize = LAST - 1;

/// The states of parts of rows that are next to each other in memory.
#[derive(Clone, Copy)]
enum AdjacentStates {
    OfARow,
    /// States of the same part of rows that are neighbouring columns.
    OfColumns,
}

/// Whether rows go along a dimension: the output's stride is 0 there.
fn is_of_rows(space: &IterationSpace<Slot>, dimension: usize) -> bool {
    space.sizes[dimension] > 1 && space.output.strides[dimension] == 0
}

impl Schedule<'_> {
    /// Adds the steps that reduce `space` along the dimensions in which the output's stride is 0.
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

    /// Merges two reduced dimensions into a single one with blocks, where some operands, such as scales, have
    /// one element for each block; `None` where that is not possible, or where a descriptor does not show a
    /// whole row of each operand.
    fn rows_of_blocks(&self, space: &IterationSpace<Slot>) -> Option<IterationSpace<Slot>> {
        // Every part of a row begins with a block.
        let rows = space.with_blocks(PART_OF_STRIDED)?;
        let dispatches = self.dispatches();
        let placements: Vec<_> =
            rows.stored().map(|it| it.placement(dispatches.alignment())).collect();
        let boxes = dispatches.boxes(rows.sizes, &placements).ok()?;
        (boxes.most()[LAST] == rows.sizes[LAST]).then_some(rows)
    }

    /// Reduces the innermost dimension of rows, and then the others.
    fn innermost_first(
        &mut self,
        space: IterationSpace<Slot>,
        innermost: usize,
        reduction: &Reduction,
    ) -> Result<(), Error> {
        let mut sizes = space.sizes;
        sizes[innermost] = 1;
        let partial = self.partial(reduction, sizes, AdjacentStates::OfARow);
        let (elements, ends) = reduction.divided(&space.inputs);
        let of_parts =
            IterationSpace { inputs: elements.to_vec(), output: partial.clone(), ..space.clone() };
        self.rows(of_parts.with_last(innermost), &reduction.of_parts())?;
        let (inputs, output) = ([&[partial], ends].concat(), space.output.clone());
        let rest = IterationSpace { sizes, inputs, output };
        self.reduce(rest, RowOrder::Nested, &reduction.rest())
    }

    /// Writes the elements to contiguous memory in the order of rows, and reduces these.
    fn rows_one_after_the_other(
        &mut self,
        space: &IterationSpace<Slot>,
        reduction: &Reduction,
    ) -> Result<(), Error> {
        let count = space.sizes.iter().map(|size| u64::from(*size)).product();
        // States of parts are wider than values.
        let width = match reduction.elements {
            Elements::States => space.inputs[0].width,
            Elements::Values => reduction.reducer.width(),
        };
        let packed = self.temporary(width, count).packed(&space.sizes);
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

    /// Reduces rows of one element, too: the reduction of a single element may differ from the element.
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

    /// Temporary memory for the states of parts of rows, which are along the last dimension.
    fn partial(
        &mut self,
        reduction: &Reduction,
        sizes: [u32; DIMENSIONS],
        adjacent: AdjacentStates,
    ) -> Operand<Slot> {
        let count = sizes.iter().map(|size| u64::from(*size)).product();
        let states = self.temporary(reduction.reducer.of_parts().output_width(), count);
        match adjacent {
            AdjacentStates::OfARow => states.packed(&sizes),
            AdjacentStates::OfColumns => packed_by_columns(states, sizes),
        }
    }

    /// Reduces rows along the last dimension.
    fn rows(&mut self, space: IterationSpace<Slot>, reduction: &Reduction) -> Result<(), Error> {
        let mut dispatches = self.dispatches();
        let alignment = dispatches.alignment();
        let placements: Vec<_> = space.stored().map(|it| it.placement(alignment)).collect();
        let boxes = dispatches.boxes(space.sizes, &placements)?;
        let (size, shown) = (space.sizes[LAST], boxes.most()[LAST]);
        let block = reduction.elements.block_length();
        let has_column_groups = self.has_column_groups(&space, &boxes, reduction);
        let at_once = match has_column_groups {
            true => column_groups::most_at_once(&space, reduction),
            false => most_at_once(&space, reduction, self.target),
        };
        if size > at_once || shown < size {
            let elements = reduction.divided(&space.inputs).0;
            let is_packed = elements.iter().all(|element| element.strides[LAST] == 1);
            if shown < block.min(size) && !is_packed {
                return self.rows_one_after_the_other(&space, reduction);
            }
            let length = part_length(block, at_once.min(shown));
            return match space.sizes.iter().position(|size| *size == 1) {
                Some(dimension) => {
                    let adjacent = match has_column_groups {
                        true => AdjacentStates::OfColumns,
                        false => AdjacentStates::OfARow,
                    };
                    self.parts(space, dimension, length, adjacent, reduction)
                }
                None => space.outermost().try_for_each(|it| self.rows(it, reduction)),
            };
        }
        if let Some(step) = reduction.second {
            return self.rows_with_second(&space, reduction, step);
        }
        if has_column_groups {
            return self.column_groups(space, boxes, reduction);
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

    /// Adds the steps that reduce grids: the last two dimensions are their rows and columns, and the elements
    /// of the input `sizes` have the number of both for each grid. They have 64 bits, with the columns in the
    /// low word, and are not greater than the sizes of the space.
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
            let most =
                placements.iter().map(|placement| placement.window(grid)).max().unwrap_or_default();
            return Err(dispatches.beyond_window(most));
        }
        for part in boxes {
            let piece = Piece::of(space, &part, alignment);
            self.dispatch_rows(&piece, reduction, Some(sizes), &mut dispatches)?;
        }
        self.add_dispatches(dispatches)
    }

    /// Reduces rows in parts of `length`, which use a dimension of size 1, and then reduces the parts' states.
    fn parts(
        &mut self,
        space: IterationSpace<Slot>,
        dimension: usize,
        length: u32,
        adjacent: AdjacentStates,
        reduction: &Reduction,
    ) -> Result<(), Error> {
        if length < 2 {
            // Parts of one element would not make rows shorter.
            let bytes = space.inputs[0].width.bytes_of(2);
            return Err(self.dispatches().beyond_window(bytes));
        }
        let (elements_of_rows, ends) = reduction.divided(&space.inputs);
        let may_overlap = reduction.reducer.is_idempotent()
            && elements_of_rows.iter().all(|operand| operand.repeats == 0);
        let all = Parts::of(space.sizes[LAST], length, may_overlap);
        let mut sizes = space.sizes;
        if all.len() > 1
            && let Some(states) = self.segments_of_rows(&space, reduction)?
        {
            sizes[LAST] = sizes[LAST].div_ceil(SEGMENT);
            let inputs = [&[states], ends].concat();
            let rest = IterationSpace { sizes, inputs, output: space.output };
            return self.rows(rest, &reduction.rest());
        }
        sizes[LAST] = all.iter().map(|parts| parts.count).sum();
        let partial = self.partial(reduction, sizes, adjacent);
        for Parts { first, count, step, length } in all {
            // The operand with a stride of so many elements from part to part.
            let by_parts = |operand: &Operand<Slot>, elements: u32| {
                let step = operand.strides[LAST] * i64::from(elements >> operand.repeats);
                let mut moved = operand.clone();
                moved.base += i64::from(first) * step;
                moved.strides[dimension] = step;
                moved
            };
            let inputs = elements_of_rows
                .iter()
                .map(|elements_of_row| by_parts(elements_of_row, step))
                .collect();
            let mut output = by_parts(&partial, 1);
            output.strides[LAST] = 0;
            let mut parts = IterationSpace { sizes: space.sizes, inputs, output };
            (parts.sizes[dimension], parts.sizes[LAST]) = (count, length);
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
        let taken: Vec<KernelAccess> =
            piece.operands().map(|operand| piece.take(operand)).collect();
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
            // The output has one element for each row.
            output: element_wise::KernelOperand { access: AccessPattern::Ragged, ..output },
            outer_dimensions: record.outer_dimensions(),
            quads: if grids.is_none() { piece.quads(&record) } else { Quads::default() },
        };
        let target = dispatches.target();
        let types = target.native_types();
        let is_one_block = blocks == 1 || reduction.reducer.has_any_order();
        let mut alone = kernel(if is_one_block { Form::OneBlock } else { Form::Blocks });
        // Adjacent elements of one factor are no gain where the other factor has none.
        let is_whole =
            !alone.adds_words() && inputs.iter().any(|input| input.access == AccessPattern::Whole);
        let may_share = grids.is_none()
            && (is_whole || piece.are_neighbours())
            && has_groups(target, piece.inner());
        let group = may_share.then(|| kernel(Form::Group));
        let group = group.filter(|group| can_run(&group.variant(types), target.capabilities));
        if group.is_none()
            && let Some(form) = neighbours::form(&alone, piece, target)
        {
            alone.form = form;
        }
        let kernel = group.unwrap_or(alone);
        let (block, count) = match kernel.form {
            Form::CommonFactor { .. } => neighbours::block_and_count(&record),
            _ => (record.words(kernel.skeleton_dimensions()), record.rows()),
        };
        let of_a_group = kernel.form.rows_of_a_group(blocks);
        if of_a_group.is_some() {
            self.strategy = Strategy::RowGroups;
        }
        // Each element is joined to the state of its row.
        let of_an_element = 1 + reduction.program.steps.len() as u64;
        let of_elements = cost::elements(&piece.sizes).saturating_mul(of_an_element);
        let of_rows = record.rows().saturating_mul(reduction.last.steps.len() as u64);
        let operations = of_elements.saturating_add(of_rows);
        let work = Work { count, operations, of_a_group };
        piece.dispatch(&kernel.variant(types), &block, work, dispatches, &mut self.constants)
    }
}

/// Whether a work group reduces rows of this length.
pub(super) fn has_groups(target: &Target<'_>, length: u32) -> bool {
    match target.tuning.strategy {
        Some(strategy) => strategy == Strategy::RowGroups,
        None => target.tuning.shared_tiles && length > SHORT_ROW,
    }
}

/// The most elements of a row that one dispatch joins.
fn most_at_once(space: &IterationSpace<Slot>, reduction: &Reduction, target: &Target<'_>) -> u32 {
    let is_of_products = *reduction.reducer == ROUNDED_SUM_F32;
    let most = MOST_BLOCKS * reduction.elements.block_length();
    let rows = cost::elements(&space.sizes[..LAST]);
    let is_strided = space.inputs.iter().any(|input| input.strides[LAST].unsigned_abs() > 1);
    if is_strided && rows < MANY_ROWS && (target.tuning.shared_tiles || is_of_products) {
        return PART_OF_STRIDED.min(most);
    }
    most
}

/// The length of parts of at most `most` elements: a block times a power of two, so that parts are subtrees.
/// Where not even a block is shown, parts have `most` elements, and are joined in another order.
fn part_length(block: u32, most: u32) -> u32 {
    let most = most.min(PART);
    if most < block { most } else { block << (most / block).ilog2() }
}
