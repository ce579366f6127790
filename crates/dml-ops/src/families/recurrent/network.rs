//! The sizes of a recurrent network, and the check that kernels can index its sums.

use dml_core::operators::recurrent;
use dml_core::{Error, Validated};

pub(super) use recurrent::{Network, flag, functions, threshold};

/// Checks that the gates' sums of all steps can be counted with 32 bits.
pub(super) fn check(network: &Network, operator: &Validated) -> Result<(), Error> {
    let sums = u64::from(network.steps) * u64::from(network.sequences) * u64::from(network.width());
    if u32::try_from(sums).is_ok() {
        return Ok(());
    }
    Err(Error::DeviceLimit {
        operator: operator.schema().name,
        field: "InputTensor",
        needed: sums,
        unit: "sums of gates",
        limit: "what kernels count",
        available: u32::MAX.into(),
    })
}
