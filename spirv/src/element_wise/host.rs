//! `kernels/element_wise.comp` on the host.

use dml_core::host::{HostDispatch, HostError};

use super::memory::Operands;
use super::program::{Access, OUTPUT};
use super::record::{QUAD, Space};
use super::values::Values;
use super::{ElementWise, PushConstants};
use crate::functions::NOWHERE;
use crate::twins::dispatch::for_each_index;

/// Runs the kernel for every quad of a dispatch.
pub(super) fn run(kernel: &ElementWise, dispatch: &mut HostDispatch<'_>) -> Result<(), HostError> {
    let space = Space::of(kernel.skeleton_dimensions(), |index| dispatch.uniform_word(index));
    let push = PushConstants::of(dispatch);
    let operands = Operands { inputs: &kernel.inputs, output: kernel.output };
    for_each_index(dispatch, push.first_group, push.count, |dispatch, index| {
        let (coordinate, x) = space.coordinate(index);
        let mut quad = Vec::with_capacity(QUAD as usize);
        let mut displacements = Vec::with_capacity(QUAD as usize);
        let mut seconds = vec![];
        for lane in 0..QUAD.min(space.inner() - x) {
            let load =
                |input, by| operands.load(dispatch, &space, &coordinate, (input, by), (x, lane));
            let parameter = |index| space.parameter(index);
            let mut values = Values::of(&kernel.program, &kernel.inputs, load, parameter)?;
            quad.push(values.get(kernel.program.last())?);
            displacements.push(values.displacement(kernel.output.access)?);
            if let Some(second) = kernel.second {
                let at = space.element(OUTPUT, &coordinate, x + lane);
                let at = at.wrapping_add(space.parameter(second.distance as usize));
                seconds.push((at, values.get(second.value)?));
            }
        }
        for (element, value) in seconds {
            operands.store(dispatch, element, value)?;
        }
        if kernel.output.access == Access::Whole && kernel.output.width.bits() < 32 {
            let first = space.element(OUTPUT, &coordinate, x);
            return operands.store_whole(dispatch, first, &quad);
        }
        for ((value, by), lane) in quad.into_iter().zip(displacements).zip(0..) {
            if by != NOWHERE {
                let element = space.element(OUTPUT, &coordinate, x + lane).wrapping_add(by);
                operands.store(dispatch, element, value)?;
            }
        }
        Ok(())
    })
}
