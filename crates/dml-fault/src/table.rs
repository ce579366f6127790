//! The entry points that the runtime calls, and with what each of them can fail.

use std::ffi::CStr;
use std::mem::transmute;

use dml_vk::ash::vk;

use crate::entry_point::EntryPoint;
use crate::host::{Callbacks, Scope};
use crate::shapes::entry_points;
use crate::unknown;
use crate::watch::Inside;
use crate::{books, dispatch};

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
    let known = known(bytes).or_else(|| known(bytes.strip_suffix(b"KHR")?));
    let Some((entry_point, replacement)) = known else { return unknown::replacement(name) };
    entry_point.replaces(function);
    Some(replacement)
}

// The failures are those of the Vulkan 1.3 specification, "Return Codes" of each.
entry_points! {
    // The loader, the instance, physical devices.
    call vkEnumerateInstanceVersion = PFN_vkEnumerateInstanceVersion(version: *mut u32), HOST;
    call vkEnumerateInstanceExtensionProperties = PFN_vkEnumerateInstanceExtensionProperties(
        layer: *const std::ffi::c_char, count: *mut u32, found: *mut vk::ExtensionProperties
    ), HOST, DEVICE, NO_LAYER;
    call vkEnumerateInstanceLayerProperties = PFN_vkEnumerateInstanceLayerProperties(
        count: *mut u32, found: *mut vk::LayerProperties
    ), HOST, DEVICE;
    create vkCreateInstance = PFN_vkCreateInstance(info: *const vk::InstanceCreateInfo<'_>)
        -> Instance, HOST, DEVICE, INIT, NO_LAYER, NO_EXTENSION, NO_DRIVER;
    destroy vkDestroyInstance = PFN_vkDestroyInstance() -> Instance;
    create vkCreateDebugUtilsMessengerEXT = PFN_vkCreateDebugUtilsMessengerEXT(
        instance: vk::Instance, info: *const vk::DebugUtilsMessengerCreateInfoEXT<'_>
    ) -> DebugUtilsMessengerEXT, HOST;
    destroy vkDestroyDebugUtilsMessengerEXT = PFN_vkDestroyDebugUtilsMessengerEXT(
        instance: vk::Instance
    ) -> DebugUtilsMessengerEXT;
    call vkEnumeratePhysicalDevices = PFN_vkEnumeratePhysicalDevices(
        instance: vk::Instance, count: *mut u32, found: *mut vk::PhysicalDevice
    ), HOST, DEVICE, INIT;
    void vkGetPhysicalDeviceProperties = PFN_vkGetPhysicalDeviceProperties(
        physical: vk::PhysicalDevice, found: *mut vk::PhysicalDeviceProperties
    );
    void vkGetPhysicalDeviceProperties2 = PFN_vkGetPhysicalDeviceProperties2(
        physical: vk::PhysicalDevice, found: *mut vk::PhysicalDeviceProperties2<'_>
    );
    void vkGetPhysicalDeviceFeatures2 = PFN_vkGetPhysicalDeviceFeatures2(
        physical: vk::PhysicalDevice, found: *mut vk::PhysicalDeviceFeatures2<'_>
    );
    void vkGetPhysicalDeviceQueueFamilyProperties = PFN_vkGetPhysicalDeviceQueueFamilyProperties(
        physical: vk::PhysicalDevice, count: *mut u32, found: *mut vk::QueueFamilyProperties
    );
    void vkGetPhysicalDeviceMemoryProperties = PFN_vkGetPhysicalDeviceMemoryProperties(
        physical: vk::PhysicalDevice, found: *mut vk::PhysicalDeviceMemoryProperties
    );
    call vkEnumerateDeviceExtensionProperties = PFN_vkEnumerateDeviceExtensionProperties(
        physical: vk::PhysicalDevice, layer: *const std::ffi::c_char, count: *mut u32,
        found: *mut vk::ExtensionProperties
    ), HOST, DEVICE, NO_LAYER;

    // The device, its queue, the timeline.
    create vkCreateDevice = PFN_vkCreateDevice(
        physical: vk::PhysicalDevice, info: *const vk::DeviceCreateInfo<'_>
    ) -> Device, HOST, DEVICE, INIT, NO_EXTENSION, NO_FEATURE, TOO_MANY, LOST;
    destroy vkDestroyDevice = PFN_vkDestroyDevice() -> Device;
    call vkSetDebugUtilsObjectNameEXT = PFN_vkSetDebugUtilsObjectNameEXT(
        device: vk::Device, info: *const vk::DebugUtilsObjectNameInfoEXT<'_>
    ), HOST, DEVICE;
    get_queue vkGetDeviceQueue = PFN_vkGetDeviceQueue(device: vk::Device, family: u32, index: u32)
        -> Queue;
    call vkQueueSubmit = PFN_vkQueueSubmit(
        queue: vk::Queue, count: u32, submits: *const vk::SubmitInfo<'_>, fence: vk::Fence
    ), HOST, DEVICE, LOST;
    call vkQueueWaitIdle = PFN_vkQueueWaitIdle(queue: vk::Queue), HOST, DEVICE, LOST;
    create vkCreateSemaphore = PFN_vkCreateSemaphore(
        device: vk::Device, info: *const vk::SemaphoreCreateInfo<'_>
    ) -> Semaphore, HOST, DEVICE;
    destroy vkDestroySemaphore = PFN_vkDestroySemaphore(device: vk::Device) -> Semaphore;
    call vkGetSemaphoreCounterValue = PFN_vkGetSemaphoreCounterValue(
        device: vk::Device, semaphore: vk::Semaphore, value: *mut u64
    ), HOST, DEVICE, LOST;
    call vkWaitSemaphores = PFN_vkWaitSemaphores(
        device: vk::Device, info: *const vk::SemaphoreWaitInfo<'_>, timeout: u64
    ), HOST, DEVICE, LOST, TIMEOUT;

    // Buffers and memory.
    create vkCreateBuffer = PFN_vkCreateBuffer(
        device: vk::Device, info: *const vk::BufferCreateInfo<'_>
    ) -> Buffer, HOST, DEVICE;
    destroy vkDestroyBuffer = PFN_vkDestroyBuffer(device: vk::Device) -> Buffer;
    void vkGetBufferMemoryRequirements = PFN_vkGetBufferMemoryRequirements(
        device: vk::Device, buffer: vk::Buffer, found: *mut vk::MemoryRequirements
    );
    call vkBindBufferMemory = PFN_vkBindBufferMemory(
        device: vk::Device, buffer: vk::Buffer, memory: vk::DeviceMemory, offset: vk::DeviceSize
    ), HOST, DEVICE;
    create vkAllocateMemory = PFN_vkAllocateMemory(
        device: vk::Device, info: *const vk::MemoryAllocateInfo<'_>
    ) -> DeviceMemory, HOST, DEVICE, TOO_MANY;
    destroy vkFreeMemory = PFN_vkFreeMemory(device: vk::Device) -> DeviceMemory;
    call vkMapMemory = PFN_vkMapMemory(
        device: vk::Device, memory: vk::DeviceMemory, offset: vk::DeviceSize, size: vk::DeviceSize,
        flags: vk::MemoryMapFlags, mapped: *mut *mut std::ffi::c_void
    ), HOST, DEVICE, NO_MAP;
    void vkUnmapMemory = PFN_vkUnmapMemory(device: vk::Device, memory: vk::DeviceMemory);
    call vkFlushMappedMemoryRanges = PFN_vkFlushMappedMemoryRanges(
        device: vk::Device, count: u32, ranges: *const vk::MappedMemoryRange<'_>
    ), HOST, DEVICE;
    call vkInvalidateMappedMemoryRanges = PFN_vkInvalidateMappedMemoryRanges(
        device: vk::Device, count: u32, ranges: *const vk::MappedMemoryRange<'_>
    ), HOST, DEVICE;

    // Pipelines and descriptors.
    create vkCreateShaderModule = PFN_vkCreateShaderModule(
        device: vk::Device, info: *const vk::ShaderModuleCreateInfo<'_>
    ) -> ShaderModule, HOST, DEVICE;
    destroy vkDestroyShaderModule = PFN_vkDestroyShaderModule(device: vk::Device) -> ShaderModule;
    create vkCreatePipelineCache = PFN_vkCreatePipelineCache(
        device: vk::Device, info: *const vk::PipelineCacheCreateInfo<'_>
    ) -> PipelineCache, HOST, DEVICE;
    destroy vkDestroyPipelineCache = PFN_vkDestroyPipelineCache(
        device: vk::Device
    ) -> PipelineCache;
    call vkGetPipelineCacheData = PFN_vkGetPipelineCacheData(
        device: vk::Device, cache: vk::PipelineCache, size: *mut usize,
        data: *mut std::ffi::c_void
    ), HOST, DEVICE;
    create vkCreateComputePipelines = PFN_vkCreateComputePipelines(
        device: vk::Device, cache: vk::PipelineCache, count: u32,
        infos: *const vk::ComputePipelineCreateInfo<'_>
    ) -> Pipeline [count], HOST, DEVICE;
    destroy vkDestroyPipeline = PFN_vkDestroyPipeline(device: vk::Device) -> Pipeline;
    create vkCreatePipelineLayout = PFN_vkCreatePipelineLayout(
        device: vk::Device, info: *const vk::PipelineLayoutCreateInfo<'_>
    ) -> PipelineLayout, HOST, DEVICE;
    destroy vkDestroyPipelineLayout = PFN_vkDestroyPipelineLayout(
        device: vk::Device
    ) -> PipelineLayout;
    create vkCreateDescriptorSetLayout = PFN_vkCreateDescriptorSetLayout(
        device: vk::Device, info: *const vk::DescriptorSetLayoutCreateInfo<'_>
    ) -> DescriptorSetLayout, HOST, DEVICE;
    destroy vkDestroyDescriptorSetLayout = PFN_vkDestroyDescriptorSetLayout(
        device: vk::Device
    ) -> DescriptorSetLayout;
    create vkCreateDescriptorPool = PFN_vkCreateDescriptorPool(
        device: vk::Device, info: *const vk::DescriptorPoolCreateInfo<'_>
    ) -> DescriptorPool, HOST, DEVICE, FRAGMENTATION;
    destroy vkDestroyDescriptorPool = PFN_vkDestroyDescriptorPool(
        device: vk::Device
    ) -> DescriptorPool;
    call vkAllocateDescriptorSets = PFN_vkAllocateDescriptorSets(
        device: vk::Device, info: *const vk::DescriptorSetAllocateInfo<'_>,
        sets: *mut vk::DescriptorSet
    ), HOST, DEVICE, FRAGMENTED, NO_POOL;
    void vkUpdateDescriptorSets = PFN_vkUpdateDescriptorSets(
        device: vk::Device, count: u32, writes: *const vk::WriteDescriptorSet<'_>,
        copy_count: u32, copies: *const vk::CopyDescriptorSet<'_>
    );

    // Command buffers and queries.
    create vkCreateCommandPool = PFN_vkCreateCommandPool(
        device: vk::Device, info: *const vk::CommandPoolCreateInfo<'_>
    ) -> CommandPool, HOST, DEVICE;
    destroy vkDestroyCommandPool = PFN_vkDestroyCommandPool(device: vk::Device) -> CommandPool;
    call vkAllocateCommandBuffers = PFN_vkAllocateCommandBuffers(
        device: vk::Device, info: *const vk::CommandBufferAllocateInfo<'_>,
        commands: *mut vk::CommandBuffer
    ), HOST, DEVICE;
    call vkBeginCommandBuffer = PFN_vkBeginCommandBuffer(
        commands: vk::CommandBuffer, info: *const vk::CommandBufferBeginInfo<'_>
    ), HOST, DEVICE;
    call vkEndCommandBuffer = PFN_vkEndCommandBuffer(commands: vk::CommandBuffer), HOST, DEVICE;
    create vkCreateQueryPool = PFN_vkCreateQueryPool(
        device: vk::Device, info: *const vk::QueryPoolCreateInfo<'_>
    ) -> QueryPool, HOST, DEVICE;
    destroy vkDestroyQueryPool = PFN_vkDestroyQueryPool(device: vk::Device) -> QueryPool;
    call vkGetQueryPoolResults = PFN_vkGetQueryPoolResults(
        device: vk::Device, pool: vk::QueryPool, first: u32, count: u32, size: usize,
        data: *mut std::ffi::c_void, stride: vk::DeviceSize, flags: vk::QueryResultFlags
    ), HOST, DEVICE, LOST, NOT_READY;

    // Commands.
    void vkCmdFillBuffer = PFN_vkCmdFillBuffer(
        commands: vk::CommandBuffer, buffer: vk::Buffer, offset: vk::DeviceSize,
        size: vk::DeviceSize, pattern: u32
    );
    void vkCmdUpdateBuffer = PFN_vkCmdUpdateBuffer(
        commands: vk::CommandBuffer, buffer: vk::Buffer, offset: vk::DeviceSize,
        size: vk::DeviceSize, data: *const std::ffi::c_void
    );
    void vkCmdCopyBuffer = PFN_vkCmdCopyBuffer(
        commands: vk::CommandBuffer, from: vk::Buffer, to: vk::Buffer, count: u32,
        regions: *const vk::BufferCopy
    );
    void vkCmdPipelineBarrier = PFN_vkCmdPipelineBarrier(
        commands: vk::CommandBuffer, from: vk::PipelineStageFlags, to: vk::PipelineStageFlags,
        flags: vk::DependencyFlags, count: u32, barriers: *const vk::MemoryBarrier<'_>,
        buffer_count: u32, buffer_barriers: *const vk::BufferMemoryBarrier<'_>,
        image_count: u32, image_barriers: *const vk::ImageMemoryBarrier<'_>
    );
    void vkCmdBindPipeline = PFN_vkCmdBindPipeline(
        commands: vk::CommandBuffer, point: vk::PipelineBindPoint, pipeline: vk::Pipeline
    );
    void vkCmdBindDescriptorSets = PFN_vkCmdBindDescriptorSets(
        commands: vk::CommandBuffer, point: vk::PipelineBindPoint, layout: vk::PipelineLayout,
        first: u32, count: u32, sets: *const vk::DescriptorSet, offset_count: u32,
        offsets: *const u32
    );
    void vkCmdPushConstants = PFN_vkCmdPushConstants(
        commands: vk::CommandBuffer, layout: vk::PipelineLayout, stages: vk::ShaderStageFlags,
        offset: u32, size: u32, values: *const std::ffi::c_void
    );
    void vkCmdDispatch = PFN_vkCmdDispatch(commands: vk::CommandBuffer, x: u32, y: u32, z: u32);
    void vkCmdResetQueryPool = PFN_vkCmdResetQueryPool(
        commands: vk::CommandBuffer, pool: vk::QueryPool, first: u32, count: u32
    );
    void vkCmdWriteTimestamp = PFN_vkCmdWriteTimestamp(
        commands: vk::CommandBuffer, stage: vk::PipelineStageFlags, pool: vk::QueryPool, index: u32
    );
    void vkCmdBeginDebugUtilsLabelEXT = PFN_vkCmdBeginDebugUtilsLabelEXT(
        commands: vk::CommandBuffer, label: *const vk::DebugUtilsLabelEXT<'_>
    );
    void vkCmdEndDebugUtilsLabelEXT = PFN_vkCmdEndDebugUtilsLabelEXT(commands: vk::CommandBuffer);
}

impl EntryPoint {
    /// Every entry point that the injector knows.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        ALL.iter().copied()
    }
}
