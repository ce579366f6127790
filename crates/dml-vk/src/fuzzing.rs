//! What is called by this project's fuzz targets and random plans, and by nothing else.

use ash::vk;
use dml_core::capabilities::Capabilities;
use dml_core::plan::Plan;

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

/// Whether the pipeline cache file with these bytes is given to the driver of the device with this
/// vendorID, deviceID and pipelineCacheUUID.
pub fn accepts_pipeline_file(bytes: &[u8], ids: [u32; 2], uuid: [u8; vk::UUID_SIZE]) -> bool {
    let [vendor_id, device_id] = ids;
    let identity = Identity { vendor_id, device_id, pipeline_cache_uuid: uuid };
    pipeline_file::check(bytes, &identity).is_ok()
}
