//! Rows that are columns, on GPUs: a work group reduces quads of adjacent columns, so that the elements that its
//! invocations read at a time are adjacent.

use dml_core::kernel::{KernelModule, Shared, can_run};
use dml_core::plan::Slot;
use dml_core::{Error, Strategy};
use dml_spirv::element_wise::{DIMENSIONS, QUAD, Quads, Record};
use dml_spirv::reduce::{Form, MOST_BLOCKS, Reduce, blocks_of_a_turn};

use super::has_groups;
use crate::ir::Reduction;
use crate::ir::space::{IterationSpace, Operand};
use crate::schedule::boxes::{Boxes, TensorBox};
use crate::schedule::piece::{KernelAccess, Piece, Work};
use crate::schedule::{Schedule, cost};

/// The dimension along rows, and the dimension from one column to the next.
const ROWS: usize = DIMENSIONS - 1;
const COLUMNS: usize = ROWS - 1;

/// So many columns of one block fill half of a work group.
const FULL_COLUMNS: u32 = 128;

/// The number of work groups that keeps a GPU busy.
const MANY_GROUPS: u64 = 512;

impl Schedule<'_> {
    /// Whether work groups reduce the rows of `space`, its last dimension, as columns.
    pub(super) fn has_column_groups(
        &self,
        space: &IterationSpace<Slot>,
        boxes: &Boxes<DIMENSIONS>,
        reduction: &Reduction,
    ) -> bool {
        let first = boxes.clone().next();
        has_groups(self.target, space.sizes[ROWS])
            && fills_groups(space, reduction)
            && are_columns(reduction.divided(&space.inputs).0, space)
            && first.is_some_and(|first| {
                let by_columns = space.clone().with_last(COLUMNS);
                let (_, variant, _) = self.column_group_kernel(&by_columns, first, reduction);
                can_run(&variant, self.target.capabilities)
            })
    }

    /// Adds dispatches for the boxes of a space with [`Self::has_column_groups`].
    ///
    /// # Errors
    /// [`Error::DeviceLimit`] if the operator would have too many steps.
    pub(super) fn column_groups(
        &mut self,
        space: IterationSpace<Slot>,
        boxes: Boxes<DIMENSIONS>,
        reduction: &Reduction,
    ) -> Result<(), Error> {
        let mut dispatches = self.dispatches();
        let by_columns = space.with_last(COLUMNS);
        for part in boxes {
            let (piece, variant, record) = self.column_group_kernel(&by_columns, part, reduction);
            let blocks = record.sizes[COLUMNS].div_ceil(reduction.elements.block_length());
            let groups = Form::groups_of_columns(piece.inner(), blocks);
            let rows = cost::elements(&piece.sizes[..COLUMNS]);
            // Each element is joined to the state of its row.
            let of_an_element = 1 + reduction.program.steps.len() as u64;
            let operations = cost::elements(&piece.sizes).saturating_mul(of_an_element);
            let count = rows.saturating_mul(groups.into());
            let work = Work { count, operations, of_a_group: Some(1) };
            let block = record.words_beside_last();
            piece.dispatch(&variant, &block, work, &mut dispatches, &mut self.constants)?;
        }
        self.strategy = Strategy::RowGroups;
        self.add_dispatches(dispatches)
    }

    /// The kernel for a box `part` of rows, given their space with the columns last: its piece and its record.
    fn column_group_kernel<'a>(
        &self,
        by_columns: &'a IterationSpace<Slot>,
        mut part: TensorBox<DIMENSIONS>,
        reduction: &Reduction,
    ) -> (Piece<'a>, Shared<KernelModule>, Record) {
        part.origin.swap(ROWS, COLUMNS);
        part.sizes.swap(ROWS, COLUMNS);
        let piece = Piece::of(by_columns, &part, self.dispatches().alignment());
        let taken: Vec<KernelAccess> =
            piece.operands().map(|operand| piece.take(operand)).collect();
        let (record, inputs, output) = piece.record(&taken, &reduction.parameters);
        let kernel = Reduce {
            program: reduction.program.clone(),
            reducer: reduction.reducer,
            last: reduction.last.clone(),
            ends: reduction.ends,
            inputs,
            elements: reduction.elements,
            form: Form::ColumnGroups,
            grids: None,
            output,
            outer_dimensions: record.outer_dimensions(),
            quads: Quads { are_whole: piece.inner().is_multiple_of(QUAD), in_every_row: 0 },
        };
        let variant = kernel.variant(self.target.native_types());
        (piece, variant, record)
    }
}

/// The most elements of a column that one dispatch of work groups joins: shorter parts where a GPU has few work
/// groups, but not shorter than what a work group joins at a time.
pub(super) fn most_at_once(space: &IterationSpace<Slot>, reduction: &Reduction) -> u32 {
    let block = reduction.elements.block_length();
    let (size, columns) = (space.sizes[ROWS], space.sizes[COLUMNS]);
    let turn = block * blocks_of_a_turn(columns);
    let groups = Form::groups_of_columns(columns, size.div_ceil(block));
    let groups = cost::elements(&space.sizes[..COLUMNS]).saturating_mul(groups.into());
    let parts = u32::try_from(MANY_GROUPS.div_ceil(groups)).expect("at most the groups");
    match parts {
        1 => MOST_BLOCKS * block,
        _ if size <= 2 * turn => (2 * turn).min(MOST_BLOCKS * block),
        _ => (size / parts).clamp(turn, MOST_BLOCKS * block),
    }
}

/// Temporary memory for the states of parts of columns; states of neighbouring columns are adjacent.
pub(super) fn packed_by_columns(
    states: Operand<Slot>,
    mut sizes: [u32; DIMENSIONS],
) -> Operand<Slot> {
    sizes.rotate_right(1);
    let mut packed = states.packed(&sizes);
    packed.strides.rotate_left(1);
    packed
}

/// Whether work groups are filled: one has columns of one outer index, many of them where columns are one block.
fn fills_groups(space: &IterationSpace<Slot>, reduction: &Reduction) -> bool {
    let outer = cost::elements(&space.sizes[..COLUMNS]);
    space.sizes[ROWS] > reduction.elements.block_length()
        || space.sizes[COLUMNS] >= FULL_COLUMNS
        || outer < MANY_GROUPS
}

/// Whether the elements of neighbouring columns are adjacent, and elements of one column are not.
fn are_columns(inputs: &[Operand<Slot>], space: &IterationSpace<Slot>) -> bool {
    let stored = || inputs.iter().filter(|input| input.buffer.is_some());
    space.sizes[COLUMNS] > 1
        && space.output.strides[COLUMNS] != 0
        && space.operands().all(|operand| operand.displacement.is_none() && operand.repeats == 0)
        && stored().any(|it| it.strides[COLUMNS] == 1 && !(0..=1).contains(&it.strides[ROWS]))
}
