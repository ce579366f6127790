//! The memory types of a device, and which of them suit a buffer.

use ash::vk;

/// The location of a buffer's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemoryLocation {
    /// Fastest for the device; the host may not be able to map it.
    Device,
    /// Written by the host, read by the device.
    Upload,
    /// Written by the device, read by the host.
    Readback,
}

/// The properties of memory types that buffers are placed in. A type with any other property needs a
/// feature that is not enabled, or is for images.
const USABLE: vk::MemoryPropertyFlags = vk::MemoryPropertyFlags::from_raw(
    vk::MemoryPropertyFlags::DEVICE_LOCAL.as_raw()
        | vk::MemoryPropertyFlags::HOST_VISIBLE.as_raw()
        | vk::MemoryPropertyFlags::HOST_COHERENT.as_raw()
        | vk::MemoryPropertyFlags::HOST_CACHED.as_raw(),
);

/// A memory type of a device.
#[derive(Clone, Copy, Debug)]
pub(super) struct MemoryType {
    pub(super) properties: vk::MemoryPropertyFlags,
    /// Whether its heap is the largest one of device-local memory.
    is_of_largest_local_heap: bool,
}

impl MemoryType {
    /// All memory types of a device.
    pub(super) fn all(memory: &vk::PhysicalDeviceMemoryProperties) -> Vec<Self> {
        let heaps = memory.memory_heaps_as_slice();
        let local =
            heaps.iter().filter(|heap| heap.flags.contains(vk::MemoryHeapFlags::DEVICE_LOCAL));
        let largest = local.map(|local| local.size).max();
        let types = memory.memory_types_as_slice().iter().map(|it| Self {
            properties: it.property_flags,
            is_of_largest_local_heap: heaps.get(it.heap_index as usize).map(|it| it.size)
                == largest,
        });
        types.collect()
    }
}

impl MemoryLocation {
    /// The rank of this memory for this location, the lowest first; `None` if it is not suitable.
    fn rank(self, memory: &MemoryType) -> Option<[bool; 3]> {
        let properties = memory.properties;
        let lacks = |flag| !properties.contains(flag);
        let (local, visible) =
            (vk::MemoryPropertyFlags::DEVICE_LOCAL, vk::MemoryPropertyFlags::HOST_VISIBLE);
        let (coherent, cached) =
            (vk::MemoryPropertyFlags::HOST_COHERENT, vk::MemoryPropertyFlags::HOST_CACHED);
        if !USABLE.contains(properties) {
            return None;
        }
        match self {
            Self::Device if lacks(local) => None,
            // Where all of the device's memory can be mapped (integrated GPUs, resizable BAR), bytes are written in
            // place. A small part of it that can be mapped is left to others.
            Self::Device => {
                Some([lacks(visible) || !memory.is_of_largest_local_heap, false, false])
            }
            _ if lacks(visible) => None,
            // Read by the device once: mapped device memory is scarce on most discrete GPUs.
            Self::Upload => Some([lacks(coherent), !lacks(local), !lacks(cached)]),
            // Reading uncached memory is slower than invalidating cached memory that is not coherent.
            Self::Readback => Some([lacks(cached), lacks(coherent), !lacks(local)]),
        }
    }
}

/// The memory types among `allowed` (bits) that suit the location, the best one first. `types` are all of the
/// device.
pub(super) fn types_for(
    location: MemoryLocation,
    allowed: u32,
    types: &[MemoryType],
) -> Vec<usize> {
    let ranked = (0..u32::BITS).zip(types).enumerate().filter_map(|(index, (bit, memory))| {
        let is_allowed = allowed & 1 << bit != 0;
        Some((location.rank(memory).filter(|_| is_allowed)?, index))
    });
    let mut ranked: Vec<_> = ranked.collect();
    ranked.sort();
    ranked.into_iter().map(|(_, index)| index).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_location_takes_the_memory_type_that_serves_it_best() {
        use vk::MemoryPropertyFlags as Properties;
        let (local, visible) = (Properties::DEVICE_LOCAL, Properties::HOST_VISIBLE);
        let (coherent, cached) = (Properties::HOST_COHERENT, Properties::HOST_CACHED);
        let of = |location, allowed, types: &[MemoryType]| types_for(location, allowed, types);
        let types = |heap_of_each: &[(Properties, u32)]| {
            let mut memory = vk::PhysicalDeviceMemoryProperties {
                memory_heap_count: 3,
                memory_type_count: u32::try_from(heap_of_each.len()).unwrap(),
                ..Default::default()
            };
            let in_device = vk::MemoryHeapFlags::DEVICE_LOCAL;
            let heaps = [(8, in_device), (32, vk::MemoryHeapFlags::empty()), (1, in_device)];
            for (to, (size, flags)) in memory.memory_heaps.iter_mut().zip(heaps) {
                *to = vk::MemoryHeap { size, flags };
            }
            for (to, (property_flags, heap_index)) in
                memory.memory_types.iter_mut().zip(heap_of_each)
            {
                let (property_flags, heap_index) = (*property_flags, *heap_index);
                *to = vk::MemoryType { property_flags, heap_index };
            }
            MemoryType::all(&memory)
        };
        // A discrete card: host memory, device memory, and a part of it that the host sees (BAR).
        let card = |seen: u32| {
            types(&[
                (local, 0),
                (visible | coherent, 1),
                (visible | coherent | cached, 1),
                (local | visible | coherent, seen),
                (local | visible | coherent | Properties::DEVICE_COHERENT_AMD, seen),
            ])
        };
        let discrete = card(2);
        assert_eq!(of(MemoryLocation::Device, !0, &discrete), [0, 3]);
        assert_eq!(of(MemoryLocation::Upload, !0, &discrete), [1, 2, 3]);
        assert_eq!(of(MemoryLocation::Readback, !0, &discrete), [2, 1, 3]);
        assert_eq!(of(MemoryLocation::Upload, 0b1100, &discrete), [2, 3]);
        // The host sees all of the device's memory (resizable BAR).
        assert_eq!(of(MemoryLocation::Device, !0, &card(0)), [3, 0]);
        // An integrated GPU whose cached memory is not coherent.
        let integrated = types(&[(local | visible | coherent, 0), (local | visible | cached, 0)]);
        assert_eq!(of(MemoryLocation::Device, !0, &integrated), [0, 1]);
        assert_eq!(of(MemoryLocation::Upload, !0, &integrated), [0, 1]);
        assert_eq!(of(MemoryLocation::Readback, !0, &integrated), [1, 0]);
        assert!(of(MemoryLocation::Device, 0, &integrated).is_empty());
    }
}
