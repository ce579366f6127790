//! The entry points that the runtime calls, and with what each of them can fail.

use std::ffi::CStr;

use dml_vk::ash::vk;

use crate::entry_point::EntryPoint;
use crate::shapes::entry_points;
use crate::{dispatch, shapes, unknown};

const HOST: vk::Result = vk::Result::ERROR_OUT_OF_HOST_MEMORY;
const DEVICE: vk::Result = vk::Result::ERROR_OUT_OF_DEVICE_MEMORY;
const LOST: vk::Result = vk::Result::ERROR_DEVICE_LOST;
const INIT: vk::Result = vk::Result::ERROR_INITIALIZATION_FAILED;
const TOO_MANY: vk::Result = vk::Result::ERROR_TOO_MANY_OBJECTS;
const NO_LAYER: vk::Result = vk::Result::ERROR_LAYER_NOT_PRESENT;
const NO_EXTENSION: vk::Result = vk::Result::ERROR_EXTENSION_NOT_PRESENT;
const NO_FEATURE: vk::Result = vk::Result::ERROR_FEATURE_NOT_PRESENT;
const NO_DRIVER: vk::Result = vk::Result::ERROR_INCOMPATIBLE_DRIVER;
const NO_MAP: vk::Result = vk::Result::ERROR_MEMORY_MAP_FAILED;
const NO_POOL: vk::Result = vk::Result::ERROR_OUT_OF_POOL_MEMORY;
const FRAGMENTED: vk::Result = vk::Result::ERROR_FRAGMENTED_POOL;
const FRAGMENTATION: vk::Result = vk::Result::ERROR_FRAGMENTATION;
const TIMEOUT: vk::Result = vk::Result::TIMEOUT;
const NOT_READY: vk::Result = vk::Result::NOT_READY;

/// Functions that only hand out functions; those pass the table themselves.
const TRANSPARENT: [&[u8]; 2] = [b"vkGetInstanceProcAddr", b"vkGetDeviceProcAddr"];

/// The function that is called under `name`.
pub(crate) fn replacement(name: &CStr, original: vk::PFN_vkVoidFunction) -> vk::PFN_vkVoidFunction {
    let function = original?;
    let bytes = name.to_bytes();
    if TRANSPARENT.contains(&bytes) {
        return original;
    }
    if bytes == b"vkDeviceWaitIdle" {
        dispatch::waits_with(function);
    }
    let known = |name: &[u8]| ALL.iter().find(|(it, _)| it.name().as_bytes() == name);
    let known = known(bytes).or_else(|| known(bytes.strip_suffix(b"KHR")?));
    let Some((entry_point, replacement)) = known else { return unknown::replacement(name) };
    entry_point.replaces(function);
    Some(replacement())
}

// The failures are those of the Vulkan 1.3 specification, "Return Codes" of each.
entry_points! {
    // The loader, the instance, physical devices.
    Call PFN_vkEnumerateInstanceVersion(_), HOST;
    Call PFN_vkEnumerateInstanceExtensionProperties(_, _, _), HOST, DEVICE, NO_LAYER;
    Call PFN_vkEnumerateInstanceLayerProperties(_, _), HOST, DEVICE;
    Create PFN_vkCreateInstance(_, _, _), HOST, DEVICE, INIT, NO_LAYER, NO_EXTENSION, NO_DRIVER;
    Destroy PFN_vkDestroyInstance(_, _);
    Create PFN_vkCreateDebugUtilsMessengerEXT(_, _, _, _), HOST;
    Destroy PFN_vkDestroyDebugUtilsMessengerEXT(_, _, _);
    Call PFN_vkEnumeratePhysicalDevices(_, _, _), HOST, DEVICE, INIT;
    Call PFN_vkGetPhysicalDeviceProperties(_, _);
    Call PFN_vkGetPhysicalDeviceProperties2(_, _);
    Call PFN_vkGetPhysicalDeviceFeatures2(_, _);
    Call PFN_vkGetPhysicalDeviceQueueFamilyProperties(_, _, _);
    Call PFN_vkGetPhysicalDeviceMemoryProperties(_, _);
    Call PFN_vkGetPhysicalDeviceMemoryProperties2(_, _);
    Call PFN_vkEnumerateDeviceExtensionProperties(_, _, _, _), HOST, DEVICE, NO_LAYER;

    // The device, its queue, the timeline.
    Create PFN_vkCreateDevice(_, _, _, _), HOST, DEVICE, INIT, NO_EXTENSION, NO_FEATURE, TOO_MANY,
        LOST;
    Destroy PFN_vkDestroyDevice(_, _);
    Call PFN_vkSetDebugUtilsObjectNameEXT(_, _), HOST, DEVICE;
    GetQueue PFN_vkGetDeviceQueue(_, _, _, _);
    Call PFN_vkQueueSubmit(_, _, _, _), HOST, DEVICE, LOST;
    Create PFN_vkCreateSemaphore(_, _, _, _), HOST, DEVICE;
    Destroy PFN_vkDestroySemaphore(_, _, _);
    Call PFN_vkGetSemaphoreCounterValue(_, _, _), HOST, DEVICE, LOST;
    Call PFN_vkWaitSemaphores(_, _, _), HOST, DEVICE, LOST, TIMEOUT;

    // Buffers and memory.
    Create PFN_vkCreateBuffer(_, _, _, _), HOST, DEVICE;
    Destroy PFN_vkDestroyBuffer(_, _, _);
    Call PFN_vkGetBufferMemoryRequirements(_, _, _);
    Call PFN_vkBindBufferMemory(_, _, _, _), HOST, DEVICE;
    Create PFN_vkAllocateMemory(_, _, _, _), HOST, DEVICE, TOO_MANY;
    Destroy PFN_vkFreeMemory(_, _, _);
    Call PFN_vkMapMemory(_, _, _, _, _, _), HOST, DEVICE, NO_MAP;
    Call PFN_vkUnmapMemory(_, _);
    Call PFN_vkFlushMappedMemoryRanges(_, _, _), HOST, DEVICE;
    Call PFN_vkInvalidateMappedMemoryRanges(_, _, _), HOST, DEVICE;

    // Pipelines and descriptors.
    Create PFN_vkCreateShaderModule(_, _, _, _), HOST, DEVICE;
    Destroy PFN_vkDestroyShaderModule(_, _, _);
    Create PFN_vkCreatePipelineCache(_, _, _, _), HOST, DEVICE;
    Destroy PFN_vkDestroyPipelineCache(_, _, _);
    Call PFN_vkGetPipelineCacheData(_, _, _, _), HOST, DEVICE;
    Create PFN_vkCreateComputePipelines(_, _, _, _, _, _), HOST, DEVICE;
    Destroy PFN_vkDestroyPipeline(_, _, _);
    Create PFN_vkCreatePipelineLayout(_, _, _, _), HOST, DEVICE;
    Destroy PFN_vkDestroyPipelineLayout(_, _, _);
    Create PFN_vkCreateDescriptorSetLayout(_, _, _, _), HOST, DEVICE;
    Destroy PFN_vkDestroyDescriptorSetLayout(_, _, _);
    Create PFN_vkCreateDescriptorPool(_, _, _, _), HOST, DEVICE, FRAGMENTATION;
    Destroy PFN_vkDestroyDescriptorPool(_, _, _);
    Call PFN_vkAllocateDescriptorSets(_, _, _), HOST, DEVICE, FRAGMENTED, NO_POOL;
    Call PFN_vkUpdateDescriptorSets(_, _, _, _, _);

    // Command buffers and queries.
    Create PFN_vkCreateCommandPool(_, _, _, _), HOST, DEVICE;
    Destroy PFN_vkDestroyCommandPool(_, _, _);
    Call PFN_vkResetCommandPool(_, _, _), HOST, DEVICE;
    Call PFN_vkAllocateCommandBuffers(_, _, _), HOST, DEVICE;
    Call PFN_vkBeginCommandBuffer(_, _), HOST, DEVICE;
    Call PFN_vkEndCommandBuffer(_), HOST, DEVICE;
    Create PFN_vkCreateQueryPool(_, _, _, _), HOST, DEVICE;
    Destroy PFN_vkDestroyQueryPool(_, _, _);
    Call PFN_vkGetQueryPoolResults(_, _, _, _, _, _, _, _), HOST, DEVICE, LOST, NOT_READY;

    // Commands.
    Call PFN_vkCmdFillBuffer(_, _, _, _, _);
    Call PFN_vkCmdUpdateBuffer(_, _, _, _, _);
    Call PFN_vkCmdCopyBuffer(_, _, _, _, _);
    Call PFN_vkCmdPipelineBarrier(_, _, _, _, _, _, _, _, _, _);
    Call PFN_vkCmdBindPipeline(_, _, _);
    Call PFN_vkCmdBindDescriptorSets(_, _, _, _, _, _, _, _);
    Call PFN_vkCmdPushConstants(_, _, _, _, _, _);
    Call PFN_vkCmdDispatch(_, _, _, _);
    Call PFN_vkCmdResetQueryPool(_, _, _, _);
    Call PFN_vkCmdWriteTimestamp(_, _, _, _);
    Call PFN_vkCmdBeginDebugUtilsLabelEXT(_, _);
    Call PFN_vkCmdEndDebugUtilsLabelEXT(_);
}

impl EntryPoint {
    /// Every entry point that the injector knows.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        ALL.iter().map(|(it, _)| *it)
    }
}
