//! `kernels/rows.comp` on the host.

use dml_core::host::{HostDispatch, HostError};

use super::{Action, Phase, Rows, Source};
use crate::ElementWidth;
use crate::element_wise::{
    Access, OUTPUT, Operand, Operands, Program, PushConstants, QUAD, Space, Values,
};
use crate::reduce::{Elements, Joined};
use crate::twins::dispatch::{for_each_group_below, for_each_index};

/// A value of the program as an operand, which is not stored in a buffer.
pub(super) const VALUE: Operand = Operand { width: ElementWidth::B32, access: Access::Single };

/// Runs the kernel for every row of a dispatch.
pub(super) fn run(kernel: &Rows, dispatch: &mut HostDispatch<'_>) -> Result<(), HostError> {
    let space = Space::of(kernel.skeleton_dimensions(), |index| dispatch.uniform_word(index));
    let push = PushConstants::of(dispatch);
    let row = |dispatch: &mut HostDispatch<'_>, index| {
        let mut row = Row { kernel, space: &space, index, values: vec![], kept: vec![] };
        kernel.phases.iter().try_for_each(|phase| row.run(dispatch, phase))
    };
    let blocks = space.inner().div_ceil(Elements::Values.block_length());
    let Some(rows) = kernel.form.rows_of_a_group(blocks) else {
        return for_each_index(dispatch, push.first_group, push.count, row);
    };
    let groups = push.count.div_ceil(rows);
    for_each_group_below(dispatch, push.first_group, groups, |dispatch, group| {
        let first = group * rows;
        (first..push.count.min(first + rows)).try_for_each(|index| row(dispatch, index))
    })
}

/// A row while phases are run.
struct Row<'a> {
    kernel: &'a Rows,
    space: &'a Space,
    index: u32,
    /// The row's values so far.
    values: Vec<u64>,
    /// The kept value of each element.
    kept: Vec<u64>,
}

impl Row<'_> {
    fn run(&mut self, dispatch: &mut HostDispatch<'_>, phase: &Phase) -> Result<(), HostError> {
        let elements = 0..self.space.inner();
        match &phase.action {
            Action::Reduce { reducer, last } => {
                let mut all = Joined::of_values(reducer);
                for at in elements {
                    all.add(at, self.value(dispatch, phase, at)?);
                }
                let value = self.of(last, all.result())?;
                self.values.push(value);
            }
            Action::Row => {
                let value = self.value(dispatch, phase, 0)?;
                self.values.push(value);
            }
            Action::Keep => {
                let all: Result<Vec<u64>, _> =
                    elements.map(|at| self.value(dispatch, phase, at)).collect();
                self.kept = all?;
            }
            Action::Write => {
                for first in elements.step_by(QUAD as usize) {
                    self.write(dispatch, phase, first)?;
                }
            }
        }
        Ok(())
    }

    fn operands(&self) -> Operands<'_> {
        Operands { inputs: &self.kernel.inputs, output: self.kernel.output }
    }

    /// Writes the quad that begins with the element `first`.
    fn write(
        &self,
        dispatch: &mut HostDispatch<'_>,
        phase: &Phase,
        first: u32,
    ) -> Result<(), HostError> {
        let coordinate = self.space.outer_coordinate(self.index);
        let elements = first..self.space.inner().min(first + QUAD);
        let quad: Result<Vec<u64>, _> =
            elements.map(|at| self.value(dispatch, phase, at)).collect();
        let (quad, output) = (quad?, self.kernel.output);
        if output.access == Access::Whole && output.width.bits() < 32 {
            let element = self.space.element(OUTPUT, &coordinate, first);
            return self.operands().store_whole(dispatch, element, &quad);
        }
        for (value, at) in quad.into_iter().zip(first..) {
            let element = self.space.element(OUTPUT, &coordinate, at);
            self.operands().store(dispatch, element, value)?;
        }
        Ok(())
    }

    /// The result of a phase's program for the element at `at`.
    fn value(
        &self,
        dispatch: &mut HostDispatch<'_>,
        phase: &Phase,
        at: u32,
    ) -> Result<u64, HostError> {
        let coordinate = self.space.outer_coordinate(self.index);
        let load = |source| match source {
            Source::Operand(input) => {
                let place = (at - at % QUAD, at % QUAD);
                self.operands().load(dispatch, self.space, &coordinate, (input, 0), place)
            }
            Source::Row(number) => Ok(self.values[number]),
            Source::Kept => Ok(self.kept[at as usize]),
        };
        phase.formula.value(load, |index| self.space.parameter(index))
    }

    /// The result of `program` for one value.
    fn of(&self, program: &Program, value: u64) -> Result<u64, HostError> {
        let parameter = |index| self.space.parameter(index);
        let mut values = Values::of(program, &[VALUE], |_, _| Ok(value), parameter)?;
        values.get(program.last())
    }
}
