//! What is called by this project's fuzz targets, random plans, mutation tests and benchmark, and by
//! nothing else.

use ash::vk;

use crate::bind::compiled::{CompileInput, CompiledOperator};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::pipeline::file::{self, Identity};

/// [`Device::compile`] for tools without `unsafe`, of whose plans this project keeps the promises.
///
/// # Errors
/// As there, and [`Error::InvalidArgument`] where the device is a caller's.
pub fn compile(device: &Device, input: CompileInput) -> Result<CompiledOperator> {
    if !device.is_owned() {
        let problem = "it is a caller's (accepted: one that this crate has created)";
        return Err(Error::invalid("device", problem));
    }
    // SAFETY: kernels are those of this project, valid SPIR-V also where the mutation tests have changed
    // one. What then leaves its windows is kept inside of the buffers by robustBufferAccess, which this
    // device has enabled.
    unsafe { device.compile(input) }
}

/// Whether the pipeline cache file with these bytes is given to the driver of the device with this
/// vendorID, deviceID and pipelineCacheUUID.
pub fn accepts_pipeline_file(bytes: &[u8], ids: [u32; 2], uuid: [u8; vk::UUID_SIZE]) -> bool {
    let [vendor_id, device_id] = ids;
    let identity = Identity { vendor_id, device_id, pipeline_cache_uuid: uuid };
    file::check(bytes, &identity).is_ok()
}
