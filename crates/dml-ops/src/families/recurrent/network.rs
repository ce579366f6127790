//! The sizes of a recurrent network, and the check that kernels can index its sums.

use dml_core::operators::recurrent;
use dml_core::{Error, Validated};

pub(super) use recurrent::{Network, flag, functions, threshold};

/// The number of sums of a sequence in a step: one for each gate and hidden element. With LinearBeforeReset the last
/// gate has a sum of the input and another one of the hidden state.
pub(super) fn width(network: &Network, operator: &Validated) -> Result<u32, Error> {
    let more = if flag(operator, "LinearBeforeReset")? { network.hidden } else { 0 };
    network.width().checked_add(more).ok_or_else(|| too_many(operator, u64::MAX))
}

/// Checks that the gates' sums of all steps can be counted with 32 bits.
pub(super) fn check(network: &Network, operator: &Validated) -> Result<(), Error> {
    let of_a_step = u64::from(network.sequences) * u64::from(width(network, operator)?);
    let sums = of_a_step.saturating_mul(network.steps.into());
    match u32::try_from(sums) {
        Ok(_) => Ok(()),
        Err(_) => Err(too_many(operator, sums)),
    }
}

fn too_many(operator: &Validated, sums: u64) -> Error {
    Error::DeviceLimit {
        operator: operator.schema().name,
        field: "InputTensor",
        needed: sums,
        unit: "sums of gates",
        limit: "what kernels count",
        available: u32::MAX.into(),
    }
}
