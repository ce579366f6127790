//! The device is created with what tells of pipelines.

use std::ffi::{CStr, c_char, c_void};

use dml_vk::ash::{khr, vk};

use crate::wrapped::{known, slice};

pub(super) unsafe extern "system" fn create(
    physical: vk::PhysicalDevice,
    info: *const vk::DeviceCreateInfo<'_>,
    callbacks: *const vk::AllocationCallbacks<'_>,
    device: *mut vk::Device,
) -> vk::Result {
    // SAFETY: the function with this name has this type.
    let original = unsafe { known::<vk::PFN_vkCreateDevice>(c"vkCreateDevice") };
    let Some(original) = original else { return vk::Result::ERROR_INITIALIZATION_FAILED };
    // SAFETY: the caller's promise.
    let given = unsafe { &*info };
    // SAFETY: as above.
    let names = unsafe { slice(given.pp_enabled_extension_names, given.enabled_extension_count) };
    let told = khr::pipeline_executable_properties::NAME;
    // SAFETY: as above.
    let is_told = |name: &*const c_char| unsafe { CStr::from_ptr(*name) } == told;
    let mut features = vk::PhysicalDevicePipelineExecutablePropertiesFeaturesKHR::default()
        .pipeline_executable_info(true);
    features.p_next = given.p_next.cast_mut();
    let with_more: Vec<*const c_char> = names.iter().copied().chain([told.as_ptr()]).collect();
    let mut changed = *given;
    if !names.iter().any(is_told) {
        changed.p_next = (&raw const features).cast::<c_void>();
        changed.enabled_extension_count += 1;
        changed.pp_enabled_extension_names = with_more.as_ptr();
    }
    // SAFETY: as above; what was added outlives the call, and RADV has this extension on every device.
    unsafe { original(physical, &raw const changed, callbacks, device) }
}
