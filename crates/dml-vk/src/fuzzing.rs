//! What is called by this project's fuzz targets, random plans, mutation tests and benchmark, and by
//! nothing else.

use ash::vk;
use dml_core::capabilities::Capabilities;
use dml_core::plan::Plan;

use crate::compiled::{CompileInput, CompiledOperator};
use crate::device::Device;
use crate::error::Result;
use crate::pipeline_file::{self, Identity};
use crate::plan_check;

/// What compilation checks of a plan.
///
/// # Errors
/// [`crate::Error::Internal`]: the plan breaks a rule.
pub fn check_plan(plan: &Plan, capabilities: &Capabilities) -> Result<()> {
    plan_check::check_plan(plan, capabilities)
}

/// [`Device::compile`] for tools without `unsafe`, of whose plans this project keeps the promises.
///
/// # Errors
/// As there.
pub fn compile(device: &Device, input: CompileInput) -> Result<CompiledOperator> {
    // SAFETY: kernels are those of this project. What the mutation tests change in one may leave its
    // windows; they execute it on devices of this crate, whose robustBufferAccess then keeps it inside
    // of the buffers.
    unsafe { device.compile(input) }
}

/// Whether the pipeline cache file with these bytes is given to the driver of the device with this
/// vendorID, deviceID and pipelineCacheUUID.
pub fn accepts_pipeline_file(bytes: &[u8], ids: [u32; 2], uuid: [u8; vk::UUID_SIZE]) -> bool {
    let [vendor_id, device_id] = ids;
    let identity = Identity { vendor_id, device_id, pipeline_cache_uuid: uuid };
    pipeline_file::check(bytes, &identity).is_ok()
}
