//! The properties that the card reports.

use dml_vk::ash::vk;

use crate::wrapped::{chained, known};

/// The alignment of a descriptor's buffer offsets: Vulkan's largest permitted value.
const OFFSET_ALIGNMENT: u64 = 256;
/// The units in which the host's memory is flushed and invalidated: Vulkan's largest permitted value.
pub(super) const ATOM: u64 = 256;
/// Vulkan's smallest permitted value of maxMemoryAllocationSize and maxBufferSize.
pub(super) const MAX_ALLOCATION: u64 = 1 << 30;
/// Vulkan's smallest permitted value of maxMemoryAllocationCount.
const MAX_ALLOCATIONS: u32 = 4096;

/// The memory types. The first, which the host cannot map, is the only one on the device.
pub(super) const TYPES: [vk::MemoryPropertyFlags; 3] = [
    vk::MemoryPropertyFlags::DEVICE_LOCAL,
    vk::MemoryPropertyFlags::HOST_VISIBLE,
    vk::MemoryPropertyFlags::from_raw(
        vk::MemoryPropertyFlags::HOST_VISIBLE.as_raw()
            | vk::MemoryPropertyFlags::HOST_CACHED.as_raw(),
    ),
];
/// All memory types, as bits.
pub(super) const ALL_TYPES: u32 = (1 << TYPES.len()) - 1;

pub(super) unsafe extern "system" fn properties(
    physical: vk::PhysicalDevice,
    properties: *mut vk::PhysicalDeviceProperties,
) {
    let name = c"vkGetPhysicalDeviceProperties";
    // SAFETY: the function with this name has this type.
    let Some(original) = (unsafe { known::<vk::PFN_vkGetPhysicalDeviceProperties>(name) }) else {
        return;
    };
    // SAFETY: the caller's promise.
    unsafe { original(physical, properties) };
    // SAFETY: as above.
    change(unsafe { &mut *properties });
}

pub(super) unsafe extern "system" fn properties_2(
    physical: vk::PhysicalDevice,
    properties: *mut vk::PhysicalDeviceProperties2<'_>,
) {
    let names = [c"vkGetPhysicalDeviceProperties2", c"vkGetPhysicalDeviceProperties2KHR"];
    // SAFETY: the functions with these names have this type.
    let find = |name| unsafe { known::<vk::PFN_vkGetPhysicalDeviceProperties2>(name) };
    let Some(original) = names.into_iter().find_map(find) else { return };
    // SAFETY: the caller's promise.
    unsafe { original(physical, properties) };
    // SAFETY: as above.
    let properties = unsafe { &mut *properties };
    change(&mut properties.properties);
    let next = properties.p_next;
    // SAFETY: as above, here and below.
    let of_1_1 = unsafe { chained::<vk::PhysicalDeviceVulkan11Properties<'_>>(next) };
    // SAFETY: as above.
    let of_3 = unsafe { chained::<vk::PhysicalDeviceMaintenance3Properties<'_>>(next) };
    // SAFETY: as above.
    let of_1_3 = unsafe { chained::<vk::PhysicalDeviceVulkan13Properties<'_>>(next) };
    // SAFETY: as above.
    let of_4 = unsafe { chained::<vk::PhysicalDeviceMaintenance4Properties<'_>>(next) };
    let sizes = [
        of_1_1.map(|of_1_1| &mut of_1_1.max_memory_allocation_size),
        of_3.map(|of_3| &mut of_3.max_memory_allocation_size),
        of_1_3.map(|of_1_3| &mut of_1_3.max_buffer_size),
        of_4.map(|of_4| &mut of_4.max_buffer_size),
    ];
    for size in sizes.into_iter().flatten() {
        *size = MAX_ALLOCATION.min(*size);
    }
}

/// Changes the properties. The name is kept, so that programs find the driver, with a note on the card at its end.
fn change(properties: &mut vk::PhysicalDeviceProperties) {
    const SUFFIX: &[u8] = b" as a discrete card";
    properties.device_type = vk::PhysicalDeviceType::DISCRETE_GPU;
    let name = &mut properties.device_name;
    let end = name.iter().position(|it| *it == 0).unwrap_or(name.len());
    if let Some(place) = name.get_mut(end..=end + SUFFIX.len()) {
        let suffix = SUFFIX.iter().chain(&[0]);
        place.iter_mut().zip(suffix).for_each(|(place, byte)| *place = byte.cast_signed());
    }
    let limits = &mut properties.limits;
    limits.non_coherent_atom_size = ATOM;
    limits.max_memory_allocation_count = MAX_ALLOCATIONS.min(limits.max_memory_allocation_count);
    for alignment in [
        &mut limits.min_storage_buffer_offset_alignment,
        &mut limits.min_uniform_buffer_offset_alignment,
        &mut limits.min_texel_buffer_offset_alignment,
    ] {
        *alignment = OFFSET_ALIGNMENT.max(*alignment);
    }
}

pub(super) unsafe extern "system" fn memory(
    physical: vk::PhysicalDevice,
    properties: *mut vk::PhysicalDeviceMemoryProperties,
) {
    let name = c"vkGetPhysicalDeviceMemoryProperties";
    // SAFETY: the function with this name has this type.
    let original = unsafe { known::<vk::PFN_vkGetPhysicalDeviceMemoryProperties>(name) };
    let Some(original) = original else { return };
    // SAFETY: the caller's promise.
    unsafe { original(physical, properties) };
    // SAFETY: as above.
    let properties = unsafe { &mut *properties };
    *properties = divided(properties);
}

pub(super) unsafe extern "system" fn memory_2(
    physical: vk::PhysicalDevice,
    properties: *mut vk::PhysicalDeviceMemoryProperties2<'_>,
) {
    let names =
        [c"vkGetPhysicalDeviceMemoryProperties2", c"vkGetPhysicalDeviceMemoryProperties2KHR"];
    // SAFETY: the functions with these names have this type.
    let find = |name| unsafe { known::<vk::PFN_vkGetPhysicalDeviceMemoryProperties2>(name) };
    let Some(original) = names.into_iter().find_map(find) else { return };
    // SAFETY: the caller's promise.
    unsafe { original(physical, properties) };
    // SAFETY: as above.
    let properties = unsafe { &mut *properties };
    properties.memory_properties = divided(&properties.memory_properties);
    let next = properties.p_next;
    // SAFETY: as above.
    let budget = unsafe { chained::<vk::PhysicalDeviceMemoryBudgetPropertiesEXT<'_>>(next) };
    if let Some(budget) = budget {
        budget.heap_usage.fill(0);
        budget.heap_budget.fill(0);
        let heaps = properties.memory_properties.memory_heaps_as_slice();
        budget.heap_budget.iter_mut().zip(heaps).for_each(|(budget, heap)| *budget = heap.size);
    }
}

/// The driver's one heap, divided into half for the device and half for the host.
fn divided(real: &vk::PhysicalDeviceMemoryProperties) -> vk::PhysicalDeviceMemoryProperties {
    let half = real.memory_heaps_as_slice().iter().map(|heap| heap.size).max().unwrap_or(0) / 2;
    let mut all = vk::PhysicalDeviceMemoryProperties {
        memory_heap_count: 2,
        memory_type_count: 3,
        ..Default::default()
    };
    all.memory_heaps[0] = vk::MemoryHeap { size: half, flags: vk::MemoryHeapFlags::DEVICE_LOCAL };
    all.memory_heaps[1] = vk::MemoryHeap { size: half, flags: vk::MemoryHeapFlags::empty() };
    for (index, (place, flags)) in all.memory_types.iter_mut().zip(TYPES).enumerate() {
        *place = vk::MemoryType { property_flags: flags, heap_index: u32::from(index > 0) };
    }
    all
}
