//! Sums of rows that are columns of a matrix: an invocation sums several adjacent columns, so that the
//! elements that it reads at a time are adjacent.

use dml_core::Error;
use dml_core::plan::Slot;
use dml_spirv::element_wise::{DIMENSIONS, QUAD, Quads};
use dml_spirv::reduce::{Form, Reduce};

use crate::ir::Reduction;
use crate::ir::space::{IterationSpace, Operand};
use crate::schedule::piece::{KernelAccess, Piece, Work};
use crate::schedule::{Schedule, cost};

/// The dimension along rows, and the dimension from one column to the next.
const DEPTHS: usize = DIMENSIONS - 1;
const COLUMNS: usize = DEPTHS - 1;

impl Schedule<'_> {
    /// Adds a kernel that sums the rows of `space`, its last dimension, if these are columns; returns whether
    /// it did.
    ///
    /// # Errors
    /// [`Error::DeviceLimit`] if the operator would have too many steps.
    pub(super) fn columns(
        &mut self,
        space: &IterationSpace<Slot>,
        reduction: &Reduction,
    ) -> Result<bool, Error> {
        if reduction.ends > 0 || !are_columns(&space.inputs, space) {
            return Ok(false);
        }
        let mut dispatches = self.dispatches();
        let alignment = dispatches.alignment();
        let placements: Vec<_> = space.stored().map(|it| it.placement(alignment)).collect();
        let Ok(boxes) = dispatches.boxes(space.sizes, &placements) else { return Ok(false) };
        if boxes.most()[DEPTHS] < space.sizes[DEPTHS] {
            return Ok(false);
        }
        let by_columns = space.clone().with_last(COLUMNS);
        for part in boxes {
            let piece = Piece::of(space, &part, alignment);
            let taken: Vec<KernelAccess> =
                piece.operands().map(|operand| piece.take(operand)).collect();
            let (record, ..) = piece.record(&taken, &reduction.parameters);
            // Quads go along the columns' dimension.
            let mut part = part;
            part.origin.swap(DEPTHS, COLUMNS);
            part.sizes.swap(DEPTHS, COLUMNS);
            let of_columns = Piece::of(&by_columns, &part, alignment);
            let taken: Vec<KernelAccess> =
                of_columns.operands().map(|operand| of_columns.take(operand)).collect();
            let (_, inputs, output) = of_columns.record(&taken, &[]);
            let columns = of_columns.inner();
            let kernel = Reduce {
                program: reduction.program.clone(),
                reducer: reduction.reducer,
                last: reduction.last.clone(),
                ends: 0,
                inputs,
                elements: reduction.elements,
                form: Form::Columns,
                grids: None,
                output,
                outer_dimensions: record.outer_dimensions(),
                quads: Quads { are_whole: columns.is_multiple_of(QUAD), in_every_row: 0 },
            };
            if !kernel.multiplies_columns() {
                return Ok(false);
            }
            let variant = kernel.variant(dispatches.target().native_types());
            let block = record.words_of_columns();
            let of_a_row = Form::invocations_of_columns(columns);
            let count = cost::elements(&piece.sizes[..COLUMNS]).saturating_mul(of_a_row.into());
            let of_an_element = 1 + reduction.program.steps.len() as u64;
            let operations = cost::elements(&piece.sizes).saturating_mul(of_an_element);
            let work = Work { count, operations, of_a_group: None };
            piece.dispatch(&variant, &block, work, &mut dispatches, &mut self.constants)?;
        }
        self.add_dispatches(dispatches)?;
        Ok(true)
    }
}

/// Whether elements of neighbouring columns are adjacent, and elements of one column are not.
pub(super) fn are_columns(inputs: &[Operand<Slot>], space: &IterationSpace<Slot>) -> bool {
    let stored = || inputs.iter().filter(|input| input.buffer.is_some());
    space.sizes[COLUMNS] >= QUAD
        && inputs.len() == 2
        && space.output.strides[COLUMNS] != 0
        && space.output.displacement.is_none()
        && inputs.iter().all(|input| input.displacement.is_none() && input.repeats == 0)
        && stored().count() == inputs.len()
        && stored().all(|it| (0..=1).contains(&it.strides[COLUMNS]))
        && stored().any(|it| it.strides[COLUMNS] == 1 && !(0..=1).contains(&it.strides[DEPTHS]))
}
