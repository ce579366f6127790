//! Memory of a device that does not exist, allocated on the host.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};

use dml_vk::ash::vk::{self, Handle as _};

use crate::wrapped::{chained, new_handle};

/// The size of a card's heap. The system provides pages only when they are written.
const HEAP: u64 = 16 << 30;
/// Both memory types serve all buffers and images.
const ALL_TYPES: u32 = 0b11;

/// The host's page size, and at least the minMemoryMapAlignment of any driver.
const MAP_ALIGNMENT: usize = 4096;

/// An allocation, initialized with zeros.
struct Bytes {
    start: NonNull<u8>,
    layout: Layout,
}

impl Bytes {
    /// `None` if the host has not enough memory. `size` is not 0, as Vulkan requires.
    fn new(size: usize) -> Option<Self> {
        let layout = Layout::from_size_align(size, MAP_ALIGNMENT).ok().filter(|_| size > 0)?;
        // SAFETY: the layout has a size.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        Some(Self { start, layout })
    }
}

impl Drop for Bytes {
    fn drop(&mut self) {
        // SAFETY: it was allocated with this layout.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

// SAFETY: the bytes belong to no thread.
unsafe impl Send for Bytes {}

/// The allocations by their handles.
static MEMORY: Mutex<Option<HashMap<u64, Bytes>>> = Mutex::new(None);

fn lock() -> MutexGuard<'static, Option<HashMap<u64, Bytes>>> {
    MEMORY.lock().unwrap_or_else(PoisonError::into_inner)
}

fn made_up() -> vk::PhysicalDeviceMemoryProperties {
    let mut all = vk::PhysicalDeviceMemoryProperties {
        memory_heap_count: 1,
        memory_type_count: 2,
        ..Default::default()
    };
    all.memory_heaps[0] = vk::MemoryHeap { size: HEAP, flags: vk::MemoryHeapFlags::DEVICE_LOCAL };
    all.memory_types[0].property_flags = vk::MemoryPropertyFlags::DEVICE_LOCAL;
    all.memory_types[1].property_flags = vk::MemoryPropertyFlags::DEVICE_LOCAL
        | vk::MemoryPropertyFlags::HOST_VISIBLE
        | vk::MemoryPropertyFlags::HOST_COHERENT
        | vk::MemoryPropertyFlags::HOST_CACHED;
    all
}

pub(super) unsafe extern "system" fn properties(
    _: vk::PhysicalDevice,
    properties: *mut vk::PhysicalDeviceMemoryProperties,
) {
    // SAFETY: the caller's promise.
    unsafe { properties.write(made_up()) };
}

pub(super) unsafe extern "system" fn properties_2(
    _: vk::PhysicalDevice,
    properties: *mut vk::PhysicalDeviceMemoryProperties2<'_>,
) {
    // SAFETY: the caller's promise.
    let properties = unsafe { &mut *properties };
    properties.memory_properties = made_up();
    // SAFETY: as above.
    let budget =
        unsafe { chained::<vk::PhysicalDeviceMemoryBudgetPropertiesEXT<'_>>(properties.p_next) };
    if let Some(budget) = budget {
        budget.heap_budget.fill(0);
        budget.heap_usage.fill(0);
        budget.heap_budget[0] = HEAP;
    }
}

pub(super) unsafe extern "system" fn allocate(
    _: vk::Device,
    info: *const vk::MemoryAllocateInfo<'_>,
    _: *const vk::AllocationCallbacks<'_>,
    memory: *mut vk::DeviceMemory,
) -> vk::Result {
    // SAFETY: the caller's promise.
    let size = unsafe { (*info).allocation_size };
    let size = usize::try_from(size).ok().filter(|_| size <= HEAP);
    let Some(bytes) = size.and_then(Bytes::new) else {
        return vk::Result::ERROR_OUT_OF_DEVICE_MEMORY;
    };
    let handle = new_handle::<vk::DeviceMemory>();
    lock().get_or_insert_default().insert(handle.as_raw(), bytes);
    // SAFETY: as above.
    unsafe { memory.write(handle) };
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn free(
    _: vk::Device,
    memory: vk::DeviceMemory,
    _: *const vk::AllocationCallbacks<'_>,
) {
    if let Some(all) = &mut *lock() {
        all.remove(&memory.as_raw());
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
    let all = lock();
    let found = all.as_ref().and_then(|all| all.get(&memory.as_raw()));
    let offset = usize::try_from(offset).unwrap_or(usize::MAX);
    let Some(bytes) = found.filter(|bytes| offset < bytes.layout.size()) else {
        return vk::Result::ERROR_MEMORY_MAP_FAILED;
    };
    let start = bytes.start.as_ptr().wrapping_add(offset);
    // SAFETY: the caller's promise.
    unsafe { address.write(start.cast()) };
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

/// A flush or an invalidation.
pub(super) unsafe extern "system" fn synchronize(
    _: vk::Device,
    _: u32,
    _: *const vk::MappedMemoryRange<'_>,
) -> vk::Result {
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn bind_buffer(
    _: vk::Device,
    _: vk::Buffer,
    _: vk::DeviceMemory,
    _: vk::DeviceSize,
) -> vk::Result {
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn bind_buffers(
    _: vk::Device,
    _: u32,
    _: *const vk::BindBufferMemoryInfo<'_>,
) -> vk::Result {
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn bind_image(
    _: vk::Device,
    _: vk::Image,
    _: vk::DeviceMemory,
    _: vk::DeviceSize,
) -> vk::Result {
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn bind_images(
    _: vk::Device,
    _: u32,
    _: *const vk::BindImageMemoryInfo<'_>,
) -> vk::Result {
    vk::Result::SUCCESS
}

fn change(requirements: &mut vk::MemoryRequirements) {
    requirements.memory_type_bits = ALL_TYPES;
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
}

/// The requirements of every image: images are invented and have no real ones.
const OF_IMAGE: vk::MemoryRequirements =
    vk::MemoryRequirements { size: 64 << 10, alignment: 4 << 10, memory_type_bits: ALL_TYPES };

pub(super) unsafe extern "system" fn of_image(
    _: vk::Device,
    _: vk::Image,
    requirements: *mut vk::MemoryRequirements,
) {
    // SAFETY: the caller's promise.
    unsafe { requirements.write(OF_IMAGE) };
}

pub(super) unsafe extern "system" fn of_image_2(
    _: vk::Device,
    _: *const vk::ImageMemoryRequirementsInfo2<'_>,
    requirements: *mut vk::MemoryRequirements2<'_>,
) {
    // SAFETY: the caller's promise.
    unsafe { answer_for_image(requirements) };
}

pub(super) unsafe extern "system" fn of_future_image(
    _: vk::Device,
    _: *const vk::DeviceImageMemoryRequirements<'_>,
    requirements: *mut vk::MemoryRequirements2<'_>,
) {
    // SAFETY: the caller's promise.
    unsafe { answer_for_image(requirements) };
}

/// # Safety
///
/// The structure can be written to.
unsafe fn answer_for_image(requirements: *mut vk::MemoryRequirements2<'_>) {
    // SAFETY: the caller's promise.
    let requirements = unsafe { &mut *requirements };
    requirements.memory_requirements = OF_IMAGE;
}

/// An address for buffers, which does not affect how kernels are compiled.
pub(super) unsafe extern "system" fn address(
    _: vk::Device,
    _: *const vk::BufferDeviceAddressInfo<'_>,
) -> vk::DeviceAddress {
    4 << 30
}
