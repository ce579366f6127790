//! Allocations: every one is of the driver's own memory type, whichever of the card's it is to be.

use std::ffi::c_void;
use std::ptr::NonNull;

use dml_vk::ash::vk;

use super::answers::{ALL_TYPES, ATOM, MAX_ALLOCATION, TYPES};
use super::shadow::{self, Direction};
use crate::wrapped::{of_device, slice};

/// The number of the driver's memory type that every allocation is made of. CPU drivers have one that does
/// everything, and it is the first.
const REAL_TYPE: u32 = 0;

fn change(requirements: &mut vk::MemoryRequirements) {
    let serves = requirements.memory_type_bits & (1 << REAL_TYPE) != 0;
    requirements.memory_type_bits = if serves { ALL_TYPES } else { 0 };
    requirements.alignment = requirements.alignment.max(ATOM);
}

crate::requirements! { change,
    of_buffer: c"vkGetBufferMemoryRequirements",
        PFN_vkGetBufferMemoryRequirements(buffer: vk::Buffer) -> vk::MemoryRequirements;
    of_buffer_2: c"vkGetBufferMemoryRequirements2",
        PFN_vkGetBufferMemoryRequirements2(info: *const vk::BufferMemoryRequirementsInfo2<'_>)
        -> vk::MemoryRequirements2<'_>, memory_requirements;
    of_future_buffer: c"vkGetDeviceBufferMemoryRequirements",
        PFN_vkGetDeviceBufferMemoryRequirements(info: *const vk::DeviceBufferMemoryRequirements<'_>)
        -> vk::MemoryRequirements2<'_>, memory_requirements;
    of_image: c"vkGetImageMemoryRequirements",
        PFN_vkGetImageMemoryRequirements(image: vk::Image) -> vk::MemoryRequirements;
    of_image_2: c"vkGetImageMemoryRequirements2",
        PFN_vkGetImageMemoryRequirements2(info: *const vk::ImageMemoryRequirementsInfo2<'_>)
        -> vk::MemoryRequirements2<'_>, memory_requirements;
    of_future_image: c"vkGetDeviceImageMemoryRequirements",
        PFN_vkGetDeviceImageMemoryRequirements(info: *const vk::DeviceImageMemoryRequirements<'_>)
        -> vk::MemoryRequirements2<'_>, memory_requirements;
}

pub(super) unsafe extern "system" fn allocate(
    device: vk::Device,
    info: *const vk::MemoryAllocateInfo<'_>,
    callbacks: *const vk::AllocationCallbacks<'_>,
    memory: *mut vk::DeviceMemory,
) -> vk::Result {
    // SAFETY: the caller's promise.
    let mut real = unsafe { *info };
    let Some(properties) = TYPES.get(real.memory_type_index as usize) else {
        return vk::Result::ERROR_OUT_OF_DEVICE_MEMORY;
    };
    if real.allocation_size > MAX_ALLOCATION {
        return vk::Result::ERROR_OUT_OF_DEVICE_MEMORY;
    }
    real.memory_type_index = REAL_TYPE;
    // SAFETY: the function with this name has this type.
    let original = unsafe { of_device::<vk::PFN_vkAllocateMemory>(device, c"vkAllocateMemory") };
    let Some(original) = original else { return vk::Result::ERROR_INITIALIZATION_FAILED };
    // SAFETY: as above.
    let result = unsafe { original(device, &raw const real, callbacks, memory) };
    if result != vk::Result::SUCCESS || !properties.contains(vk::MemoryPropertyFlags::HOST_VISIBLE)
    {
        return result;
    }
    // SAFETY: the driver has written it.
    let handle = unsafe { *memory };
    match keep_copy(device, handle, real.allocation_size) {
        Ok(()) => result,
        Err(failure) => {
            // SAFETY: the memory is new, and the caller does not get it.
            unsafe { free(device, handle, callbacks) };
            failure
        }
    }
}

/// Maps the memory for itself, for as long as it lives.
fn keep_copy(device: vk::Device, memory: vk::DeviceMemory, size: u64) -> Result<(), vk::Result> {
    let failed = vk::Result::ERROR_OUT_OF_HOST_MEMORY;
    // SAFETY: the function with this name has this type.
    let original = unsafe { of_device::<vk::PFN_vkMapMemory>(device, c"vkMapMemory") };
    let original = original.ok_or(failed)?;
    let mut address = std::ptr::null_mut();
    let flags = vk::MemoryMapFlags::empty();
    // SAFETY: the memory is new, and its type visible to the host.
    let result = unsafe { original(device, memory, 0, vk::WHOLE_SIZE, flags, &raw mut address) };
    result.result()?;
    let real = NonNull::new(address.cast::<u8>()).ok_or(failed)?;
    // SAFETY: it was mapped as a whole, and is unmapped by being freed, after the copy is gone.
    unsafe { shadow::insert(memory, real, usize::try_from(size).map_err(|_| failed)?) };
    Ok(())
}

pub(super) unsafe extern "system" fn free(
    device: vk::Device,
    memory: vk::DeviceMemory,
    callbacks: *const vk::AllocationCallbacks<'_>,
) {
    shadow::remove(memory);
    // SAFETY: the function with this name has this type.
    let original = unsafe { of_device::<vk::PFN_vkFreeMemory>(device, c"vkFreeMemory") };
    if let Some(original) = original {
        // SAFETY: the caller's promise.
        unsafe { original(device, memory, callbacks) };
    }
}

pub(super) unsafe extern "system" fn map(
    _: vk::Device,
    memory: vk::DeviceMemory,
    offset: vk::DeviceSize,
    _: vk::DeviceSize,
    _: vk::MemoryMapFlags,
    address: *mut *mut c_void,
) -> vk::Result {
    let Some(found) = shadow::address(memory, offset) else {
        return vk::Result::ERROR_MEMORY_MAP_FAILED;
    };
    // SAFETY: the caller's promise.
    unsafe { address.write(found.cast()) };
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn map_2(
    device: vk::Device,
    info: *const vk::MemoryMapInfoKHR<'_>,
    address: *mut *mut c_void,
) -> vk::Result {
    // SAFETY: the caller's promise.
    let info = unsafe { &*info };
    // SAFETY: as above.
    unsafe { map(device, info.memory, info.offset, info.size, info.flags, address) }
}

pub(super) unsafe extern "system" fn flush(
    _: vk::Device,
    count: u32,
    ranges: *const vk::MappedMemoryRange<'_>,
) -> vk::Result {
    // SAFETY: the caller's promise.
    copied(unsafe { slice(ranges, count) }, Direction::ToDevice)
}

pub(super) unsafe extern "system" fn invalidate(
    _: vk::Device,
    count: u32,
    ranges: *const vk::MappedMemoryRange<'_>,
) -> vk::Result {
    // SAFETY: the caller's promise.
    copied(unsafe { slice(ranges, count) }, Direction::ToHost)
}

fn copied(ranges: &[vk::MappedMemoryRange<'_>], direction: Direction) -> vk::Result {
    if ranges.iter().all(|range| shadow::copy(range, direction)) {
        vk::Result::SUCCESS
    } else {
        vk::Result::ERROR_OUT_OF_HOST_MEMORY
    }
}
