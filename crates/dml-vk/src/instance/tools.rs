//! Tools that are active on a physical device, such as the validation layer (VK_EXT_tooling_info).

use ash::vk;

use crate::instance::InstanceShared;

/// Whether a tool checks how the device is used, whoever has enabled it. `false` where the layers do not say.
pub(crate) fn is_validated(instance: &InstanceShared, physical: vk::PhysicalDevice) -> bool {
    let Some(functions) = instance.loader.load_tooling_info(instance.table.core().handle()) else {
        return false;
    };
    let get = functions.get_physical_device_tool_properties_ext;
    let mut count = 0;
    // SAFETY: the physical device belongs to the instance, which is alive; a null array asks for the count.
    let counted = unsafe { get(physical, &raw mut count, std::ptr::null_mut()) };
    if counted != vk::Result::SUCCESS {
        return false;
    }
    let mut tools = vec![vk::PhysicalDeviceToolProperties::default(); count as usize];
    // SAFETY: as above; the array has `count` elements.
    let listed = unsafe { get(physical, &raw mut count, tools.as_mut_ptr()) };
    let is_listed = [vk::Result::SUCCESS, vk::Result::INCOMPLETE].contains(&listed);
    tools.truncate(count as usize);
    is_listed && tools.iter().any(|tool| tool.purposes.contains(vk::ToolPurposeFlags::VALIDATION))
}
