//! `kernels/element_wise.comp` on the host.

use dml_core::host::{HostDispatch, HostError};

use super::formula::Formula;
use super::memory::KernelOperands;
use super::record::QUAD;
use super::row::Row;
use super::{ElementWise, PushConstants};
use crate::twins::dispatch::for_each_index;

/// Runs the kernel for every quad of a dispatch.
pub(super) fn run(kernel: &ElementWise, dispatch: &mut HostDispatch<'_>) -> Result<(), HostError> {
    let dimensions = kernel.skeleton_dimensions();
    let operands = KernelOperands::of(&kernel.inputs, kernel.output, dimensions, dispatch);
    let formula = Formula::of_operands(&kernel.program, kernel.inputs.len());
    let push = PushConstants::of(dispatch);
    for_each_index(dispatch, push.first_group, push.count, |dispatch, index| {
        let (coordinate, x) = operands.space.coordinate(index);
        let quad = x..operands.space.inner().min(x + QUAD);
        Row::at(&operands, dispatch, coordinate).map(&formula, kernel.second, quad)
    })
}
