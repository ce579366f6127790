//! `kernels/rows.comp` on the host.

use dml_core::host::{HostDispatch, HostError};

use super::{Action, Phase, Rows};
use crate::element_wise::{Formula, KernelOperands, PushConstants, Row, Source};
use crate::reduce::Elements;

/// Runs the kernel for every row of a dispatch.
pub(super) fn run(kernel: &Rows, dispatch: &mut HostDispatch<'_>) -> Result<(), HostError> {
    let dimensions = kernel.skeleton_dimensions();
    let operands = KernelOperands::of(&kernel.inputs, kernel.output, dimensions, dispatch);
    let space = &operands.space;
    let push = PushConstants::of(dispatch);
    let blocks = space.inner().div_ceil(Elements::Values.block_length());
    kernel.form.for_each_row(dispatch, &push, blocks, |dispatch, index| {
        let mut row = Row::at(&operands, dispatch, space.outer_coordinate(index));
        kernel.phases.iter().try_for_each(|phase| phase.run(&mut row))
    })
}

impl Phase {
    fn run(&self, row: &mut Row<'_, '_>) -> Result<(), HostError> {
        let value = match &self.action {
            Action::Reduce { reducer, last } => {
                let number = row.values.len();
                let reduced = row.reduce(reducer, &self.formula, row.len())?;
                row.values.push(reduced);
                let sources = vec![Source::Row(number)];
                let value = row.value(&Formula { sources, program: last.clone() }, 0)?;
                row.values.pop();
                value
            }
            Action::Row => row.value(&self.formula, 0)?,
            Action::Keep => return row.keep(&self.formula, 0..row.len()),
            Action::Write => return row.map(&self.formula, None, 0..row.len()),
        };
        row.values.push(value);
        Ok(())
    }
}
