//! Row groups as one kernel: reductions of the same rows, and the Maps of these rows, in consecutive phases.
//!
//! Values that members pass to each other stay in the kernel: a row's value in a register, and values of
//! elements in registers where a work group has all of a row at once, else in the output, which is written
//! last. If a whole group cannot be one kernel, as many members as possible are, and the others are executed
//! separately. Several work groups share each of few long rows (`rows/segments.rs`).

mod late;
mod members;
mod segments;

use dml_core::kernel::can_run;
use dml_core::plan::Slot;
use dml_core::{Error, Strategy};
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::{AccessPattern, DIMENSIONS, KernelOperand};
use dml_spirv::reduce::{Elements, Form, MOST_BLOCKS, MOST_BLOCKS_OF_LONG};
use dml_spirv::rows::{Action, Phase, Rows};

use super::Schedule;
use super::reduce::has_groups;
use crate::ir::space::IterationSpace;
use crate::ir::{Buffer, Recorded, RowGroup, Stage};
use crate::schedule::cost;
use crate::schedule::piece::{KernelAccess, Piece, Work};
use late::with_last_divided;
use members::{KeptIn, Members};

const LAST: usize = DIMENSIONS - 1;
/// With fewer rows than this a kernel of a group leaves a device idle that separate Maps would not: where an
/// invocation has a row that is longer than a block, or a work group a row that is longer than it can have at
/// once.
const FEW_ROWS: u64 = 32;

impl Schedule<'_> {
    /// Adds one kernel that computes as many members of a group as possible, from the member with the number
    /// `first` on. Returns these members; `None` where they are better executed separately.
    ///
    /// # Errors
    /// [`Error::DeviceLimit`] if the operator would have too many steps.
    pub(super) fn row_kernel(
        &mut self,
        group: &RowGroup,
        first: usize,
    ) -> Result<Option<RowGroup>, Error> {
        for end in (first + 2..=group.members.len()).rev() {
            let members = group.part(first..end);
            if self.row_group(&members)? {
                return Ok(Some(members));
            }
            if self.divided_row_group(&members)? {
                return Ok(Some(members));
            }
        }
        Ok(None)
    }

    /// Adds a kernel and the Map that ends the group, if that is possible and worth it; returns whether it did.
    fn divided_row_group(&mut self, group: &RowGroup) -> Result<bool, Error> {
        let known = self.locals.len();
        let words = Buffer::Local(known);
        let Some((kernel, late)) = with_last_divided(group, words) else { return Ok(false) };
        self.place_locals(group.results.iter().copied());
        let before = self.reserved();
        if kernel.results.contains(&words) {
            let count = cost::elements(&late.space.sizes);
            let node = Some(self.nodes.len());
            let place = self.reserve(ElementWidth::B32, count, Stage::Execution, node);
            self.locals.push(Some(place));
        }
        let is_kernel = self.row_group(&kernel)?;
        if is_kernel {
            self.map(self.placed(&late.space), &late.computation)?;
        } else {
            self.give_back(before);
        }
        // No other node knows the words.
        self.locals.truncate(known);
        Ok(is_kernel)
    }

    /// Adds one kernel that computes a group, if that is possible and worth it; returns whether it did.
    fn row_group(&mut self, group: &RowGroup) -> Result<bool, Error> {
        let length = |it: &Recorded| it.node.space().map(row_length);
        let Some(size) = group.members.first().and_then(length) else { return Ok(false) };
        if self.row_segments(group, size)? {
            return Ok(true);
        }
        let blocks = size.div_ceil(Elements::Values.block_length());
        let Some(form) = form(blocks, has_groups(self.target, size)) else { return Ok(false) };
        let kept_in = if form == Form::Group { KeptIn::Registers } else { KeptIn::Output };
        let Some(members) = Members::of(group, kept_in) else { return Ok(false) };
        let Some(space) = members.space() else { return Ok(false) };
        self.place_locals(group.results.iter().copied());
        let space = self.placed(&space);
        if !self.is_worth_a_kernel(&space, form) {
            return Ok(false);
        }
        let mut dispatches = self.dispatches();
        let alignment = dispatches.alignment();
        let placements: Vec<_> = space.stored().map(|it| it.placement(alignment)).collect();
        let Ok(boxes) = dispatches.boxes(space.sizes, &placements) else { return Ok(false) };
        if boxes.most()[LAST] < size {
            return Ok(false);
        }
        for part in boxes {
            let piece = Piece::of(&space, &part, alignment);
            let taken: Vec<KernelAccess> =
                piece.operands().map(|operand| piece.take(operand)).collect();
            let (record, inputs, output) = piece.record(&taken, &members.parameters);
            let output = as_written(output, &members.phases);
            let outer_dimensions = record.outer_dimensions();
            let phases = members.phases.clone();
            let quads = piece.quads(&record);
            let kernel = Rows { phases, inputs, output, form, outer_dimensions, quads };
            let block = record.words(kernel.skeleton_dimensions());
            let variant = kernel.variant(self.target.native_types());
            if !can_run(&variant, self.target.capabilities) {
                return Ok(false);
            }
            let of_rows = cost::elements(&piece.sizes);
            let operations = of_rows.saturating_mul(members.operations);
            let of_a_group = form.rows_of_a_group(blocks);
            let work = Work { count: record.rows(), operations, of_a_group };
            piece.dispatch(&variant, &block, work, &mut dispatches, &mut self.constants)?;
        }
        if form.rows_of_a_group(blocks).is_some() {
            self.strategy = Strategy::RowGroups;
        }
        self.add_dispatches(dispatches)?;
        Ok(true)
    }

    /// Whether a kernel of this form suits the device better than separate members.
    fn is_worth_a_kernel(&self, space: &IterationSpace<Slot>, form: Form) -> bool {
        let are_neighbours = are_neighbours(space);
        let has_rows = cost::elements(&space.sizes[..LAST]) >= FEW_ROWS;
        match form {
            Form::OneBlock => true,
            Form::Blocks => has_rows,
            Form::Group => are_neighbours,
            Form::Columns | Form::CommonFactor { .. } | Form::ColumnGroups | Form::Segments => {
                unreachable!("no whole group of rows has it")
            }
            Form::Long => (has_rows || self.target.tuning.strategy.is_some()) && are_neighbours,
        }
    }
}

/// The output of these phases: only a quad of elements is written as one; states and values of rows are not.
fn as_written(output: KernelOperand, phases: &[Phase]) -> KernelOperand {
    match phases.last() {
        Some(Phase { action: Action::Write, .. }) => output,
        _ => KernelOperand { access: AccessPattern::Ragged, ..output },
    }
}

/// Whether the elements of rows are adjacent in every operand.
fn are_neighbours<B: Clone>(space: &IterationSpace<B>) -> bool {
    let mut stored = space.operands().filter(|operand| operand.buffer.is_some());
    stored.all(|it| it.repeats > 0 || (0..=1).contains(&it.strides[LAST]))
}

/// The form of a kernel for rows of `blocks` blocks; `None` if they are too long for one.
fn form(blocks: u32, has_groups: bool) -> Option<Form> {
    match blocks {
        ..=MOST_BLOCKS if has_groups => Some(Form::Group),
        ..=MOST_BLOCKS_OF_LONG if has_groups => Some(Form::Long),
        1 => Some(Form::OneBlock),
        ..=MOST_BLOCKS => Some(Form::Blocks),
        _ => None,
    }
}

/// The number of elements of a row that a Reduce joins, saturated at 32 bits.
fn row_length(space: &IterationSpace) -> u32 {
    let along = space.sizes.iter().zip(&space.output.strides).filter(|(_, stride)| **stride == 0);
    along.fold(1, |length, (size, _)| length.saturating_mul(*size))
}
