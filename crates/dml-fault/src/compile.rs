//! Compiling plans from tools that have no `unsafe`.

use dml_vk::{CompileInput, CompiledOperator, Device, Result};

use crate::error::invalid;

/// [`Device::compile`] for tools without `unsafe`, of whose plans this project keeps the promises.
///
/// # Errors
/// As there, and [`dml_vk::Error::InvalidArgument`] where the device is a caller's.
pub fn compile(device: &Device, input: CompileInput) -> Result<CompiledOperator> {
    if !device.is_owned() {
        let problem = "it is a caller's (accepted: one that this project has created)";
        return Err(invalid("device", problem));
    }
    // SAFETY: kernels are those of this project, valid SPIR-V also where the mutation tests have changed
    // one. What then leaves its windows is kept inside of the buffers by robustBufferAccess, which those
    // tests enable.
    unsafe { device.compile(input) }
}
