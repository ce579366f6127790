//! Wraps a CPU's driver so that it behaves like a discrete card.
//!
//! Such a card has properties that a CPU driver lacks: memory that the host cannot map, host memory that is
//! not coherent, coarse alignments, and limits that are reached. Vulkan requires one coherent memory type of
//! every device; this one leaves it out, so that every transfer needs flushes and invalidations.

mod answers;
mod memory;
mod shadow;

crate::functions! {
    vkGetPhysicalDeviceProperties: PFN_vkGetPhysicalDeviceProperties = answers::properties;
    vkGetPhysicalDeviceProperties2: PFN_vkGetPhysicalDeviceProperties2 = answers::properties_2;
    vkGetPhysicalDeviceMemoryProperties: PFN_vkGetPhysicalDeviceMemoryProperties = answers::memory;
    vkGetPhysicalDeviceMemoryProperties2: PFN_vkGetPhysicalDeviceMemoryProperties2 = answers::memory_2;
    vkGetBufferMemoryRequirements: PFN_vkGetBufferMemoryRequirements = memory::of_buffer;
    vkGetBufferMemoryRequirements2: PFN_vkGetBufferMemoryRequirements2 = memory::of_buffer_2;
    vkGetDeviceBufferMemoryRequirements: PFN_vkGetDeviceBufferMemoryRequirements = memory::of_future_buffer;
    vkGetImageMemoryRequirements: PFN_vkGetImageMemoryRequirements = memory::of_image;
    vkGetImageMemoryRequirements2: PFN_vkGetImageMemoryRequirements2 = memory::of_image_2;
    vkGetDeviceImageMemoryRequirements: PFN_vkGetDeviceImageMemoryRequirements = memory::of_future_image;
    vkAllocateMemory: PFN_vkAllocateMemory = memory::allocate;
    vkFreeMemory: PFN_vkFreeMemory = memory::free;
    vkMapMemory: PFN_vkMapMemory = memory::map;
    vkUnmapMemory: PFN_vkUnmapMemory = crate::unmap;
    vkMapMemory2: PFN_vkMapMemory2KHR = memory::map_2;
    vkUnmapMemory2: PFN_vkUnmapMemory2KHR = crate::unmap_2;
    vkFlushMappedMemoryRanges: PFN_vkFlushMappedMemoryRanges = memory::flush;
    vkInvalidateMappedMemoryRanges: PFN_vkInvalidateMappedMemoryRanges = memory::invalidate;
}
