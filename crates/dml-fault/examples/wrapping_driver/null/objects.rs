//! Objects that are nothing but handles: what waits for the device finds it done.

use std::ffi::c_void;

use dml_vk::ash::vk;

use crate::wrapped::new_handle;

macro_rules! created {
    ($($name:ident makes $object:ident of $info:ident;)*) => {
        $(
            pub(super) unsafe extern "system" fn $name(
                _: vk::Device,
                _: *const vk::$info<'_>,
                _: *const vk::AllocationCallbacks<'_>,
                object: *mut vk::$object,
            ) -> vk::Result {
                // SAFETY: the caller's promise.
                unsafe { object.write(new_handle()) };
                vk::Result::SUCCESS
            }
        )*
    };
}

created! {
    create_image makes Image of ImageCreateInfo;
    create_image_view makes ImageView of ImageViewCreateInfo;
    create_buffer_view makes BufferView of BufferViewCreateInfo;
    create_sampler makes Sampler of SamplerCreateInfo;
    create_semaphore makes Semaphore of SemaphoreCreateInfo;
    create_fence makes Fence of FenceCreateInfo;
    create_query_pool makes QueryPool of QueryPoolCreateInfo;
    create_descriptor_pool makes DescriptorPool of DescriptorPoolCreateInfo;
}

pub(super) unsafe extern "system" fn destroy<T>(
    _: vk::Device,
    _: T,
    _: *const vk::AllocationCallbacks<'_>,
) {
}

pub(super) unsafe extern "system" fn wait_semaphores(
    _: vk::Device,
    _: *const vk::SemaphoreWaitInfo<'_>,
    _: u64,
) -> vk::Result {
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn signal_semaphore(
    _: vk::Device,
    _: *const vk::SemaphoreSignalInfo<'_>,
) -> vk::Result {
    vk::Result::SUCCESS
}

/// More than any program signals, and less than what adding to it takes beyond 64 bits.
pub(super) unsafe extern "system" fn semaphore_value(
    _: vk::Device,
    _: vk::Semaphore,
    value: *mut u64,
) -> vk::Result {
    // SAFETY: the caller's promise.
    unsafe { value.write(1 << 40) };
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn reset_fences(
    _: vk::Device,
    _: u32,
    _: *const vk::Fence,
) -> vk::Result {
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn fence_status(_: vk::Device, _: vk::Fence) -> vk::Result {
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn wait_for_fences(
    _: vk::Device,
    _: u32,
    _: *const vk::Fence,
    _: vk::Bool32,
    _: u64,
) -> vk::Result {
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn reset_query_pool(
    _: vk::Device,
    _: vk::QueryPool,
    _: u32,
    _: u32,
) {
}

/// Every answer is 0.
pub(super) unsafe extern "system" fn query_results(
    _: vk::Device,
    _: vk::QueryPool,
    _: u32,
    _: u32,
    size: usize,
    data: *mut c_void,
    _: vk::DeviceSize,
    _: vk::QueryResultFlags,
) -> vk::Result {
    // SAFETY: the caller's promise.
    unsafe { data.cast::<u8>().write_bytes(0, size) };
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn reset_descriptor_pool(
    _: vk::Device,
    _: vk::DescriptorPool,
    _: vk::DescriptorPoolResetFlags,
) -> vk::Result {
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn allocate_descriptor_sets(
    _: vk::Device,
    info: *const vk::DescriptorSetAllocateInfo<'_>,
    sets: *mut vk::DescriptorSet,
) -> vk::Result {
    // SAFETY: the caller's promise.
    let count = unsafe { (*info).descriptor_set_count };
    for index in 0..count as usize {
        // SAFETY: as above.
        let place = unsafe { sets.add(index) };
        // SAFETY: as above.
        unsafe { place.write(new_handle()) };
    }
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn free_descriptor_sets(
    _: vk::Device,
    _: vk::DescriptorPool,
    _: u32,
    _: *const vk::DescriptorSet,
) -> vk::Result {
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn update_descriptor_sets(
    _: vk::Device,
    _: u32,
    _: *const vk::WriteDescriptorSet<'_>,
    _: u32,
    _: *const vk::CopyDescriptorSet<'_>,
) {
}

pub(super) unsafe extern "system" fn update_with_template(
    _: vk::Device,
    _: vk::DescriptorSet,
    _: vk::DescriptorUpdateTemplate,
    _: *const c_void,
) {
}
