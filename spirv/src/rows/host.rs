//! `kernels/rows.comp` on the host.

use std::ops::Range;

use dml_core::host::{HostDispatch, HostError};

use super::{Action, Destination, Phase, Rows};
use crate::element_wise::{ElementFormula, Formula, KernelOperands, PushConstants, Row, Source};
use crate::reduce::{Elements, Form, SEGMENT};

/// Runs the kernel for every row of a dispatch.
pub(super) fn run(kernel: &Rows, dispatch: &mut HostDispatch<'_>) -> Result<(), HostError> {
    let dimensions = kernel.skeleton_dimensions();
    let operands = KernelOperands::of(&kernel.inputs, kernel.output, dimensions, dispatch);
    let space = &operands.space;
    let push = PushConstants::of(dispatch);
    if kernel.form == Form::Segments {
        let of_a_row = space.inner().div_ceil(SEGMENT);
        return kernel.form.for_each_row(dispatch, &push, 1, |dispatch, index| {
            let coordinate = space.outer_coordinate(index / of_a_row);
            let mut row = Row::at(&operands, dispatch, coordinate);
            let (segment, first) = (index % of_a_row, index % of_a_row * SEGMENT);
            let elements = first..row.len().min(first.saturating_add(SEGMENT));
            kernel.phases.iter().try_for_each(|phase| phase.run(&mut row, segment, &elements))
        });
    }
    let blocks = space.inner().div_ceil(Elements::Values.block_length());
    kernel.form.for_each_row(dispatch, &push, blocks, |dispatch, index| {
        let mut row = Row::at(&operands, dispatch, space.outer_coordinate(index));
        let elements = 0..row.len();
        kernel.phases.iter().try_for_each(|phase| phase.run(&mut row, 0, &elements))
    })
}

impl Phase {
    /// Runs the phase for these elements of a row, its segment with the number `segment`.
    fn run(
        &self,
        row: &mut Row<'_, '_>,
        segment: u32,
        elements: &Range<u32>,
    ) -> Result<(), HostError> {
        let value = match &self.action {
            Action::Reduce { reducer, last } => {
                let reduced = row.reduce(reducer, &self.formula, row.len())?;
                value_of(row, reduced, last)?
            }
            Action::Join { reducer, last } => {
                let joined = row.join_parts(reducer, self.formula.states(), SEGMENT)?;
                value_of(row, joined, last)?
            }
            Action::Segment { reducer } => {
                let state = row.reduce_part(reducer, &self.formula, elements.clone())?;
                return row.store(row.place(segment), state);
            }
            Action::Store { .. } if segment > 0 => return Ok(()),
            Action::Store { to } => {
                let value = row.value(&self.formula, 0)?;
                return match *to {
                    Destination::Output => row.store(row.place(0), value),
                    Destination::Input(input) => row.store_to_input(input, value),
                };
            }
            Action::Row => row.value(&self.formula, 0)?,
            Action::Keep => return row.keep(&self.formula, elements.clone()),
            Action::Write => return row.map(&self.formula, None, elements.clone()),
        };
        row.values.push(value);
        Ok(())
    }
}

/// The result of the program `last` for a number of the row.
fn value_of(row: &mut Row<'_, '_>, number: u64, last: &ElementFormula) -> Result<u64, HostError> {
    let sources = vec![Source::Row(row.values.len())];
    row.values.push(number);
    let value = row.value(&Formula { sources, program: last.clone() }, 0)?;
    row.values.pop();
    Ok(value)
}
