//! Device memory: gpu-allocator under a lock, with errors that name the call.

use std::mem::ManuallyDrop;
use std::sync::{Arc, Mutex, PoisonError};

use ash::vk;
use gpu_allocator::vulkan::{
    Allocation, AllocationCreateDesc, AllocationScheme, Allocator, AllocatorCreateDesc,
};
use gpu_allocator::{AllocationError, AllocationSizes};

use crate::error::{Error, MemoryKind, Result};
use crate::instance::physical::PhysicalDevice;
use crate::instance::raw::RawDevice;

const MIB: u64 = 1 << 20;

/// Small buffers share a block of memory of at least this size, gpu-allocator's minimum. No device has a lower
/// maxMemoryAllocationSize; a cap may have one, which then only limits buffers.
const MIN_BLOCK: u64 = 4 * MIB;

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
struct MemoryType {
    properties: vk::MemoryPropertyFlags,
    /// Whether its heap is the largest one of device-local memory.
    is_of_largest_local_heap: bool,
}

impl MemoryType {
    /// All memory types of a device.
    fn all(memory: &vk::PhysicalDeviceMemoryProperties) -> Vec<Self> {
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

/// The memory of a device's buffers, see [`crate::Device::memory_report`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryReport {
    /// The number of buffers with memory, the runtime's own included.
    pub buffers: usize,
    /// The bytes of these buffers, including alignment.
    pub allocated: u64,
    /// The number of blocks: allocations made from Vulkan. Small buffers share one.
    pub blocks: usize,
    /// The bytes of all blocks. The last empty block of each kind of memory is kept for later buffers.
    pub reserved: u64,
}

/// Allocates the memory of one device.
pub(crate) struct MemoryAllocator {
    /// Frees its blocks when it is dropped.
    inner: Mutex<ManuallyDrop<Allocator>>,
    raw: Arc<RawDevice>,
    non_coherent_atom_size: u64,
    max_allocation: u64,
    types: Vec<MemoryType>,
}

impl MemoryAllocator {
    /// No allocation is larger than `max_allocation`.
    pub(crate) fn new(
        raw: &Arc<RawDevice>,
        physical: &PhysicalDevice,
        max_allocation: u64,
    ) -> Result<Self> {
        let core = physical.instance.table.core();
        // SAFETY: the handle was enumerated from this instance, which is alive.
        let memory = unsafe { core.get_physical_device_memory_properties(physical.raw()) };
        let types = MemoryType::all(&memory);
        let whole_blocks = |size: u64| (size - size % MIN_BLOCK).max(MIN_BLOCK);
        let block = |size: u64| whole_blocks(size.min(max_allocation));
        let sizes = AllocationSizes::new(block(8 * MIB), block(8 * MIB))
            .with_max_device_memblock_size(block(256 * MIB))
            .with_max_host_memblock_size(block(64 * MIB));
        let inner = Allocator::new(&AllocatorCreateDesc {
            instance: core.clone(),
            device: raw.core().clone(),
            physical_device: physical.handle,
            debug_settings: gpu_allocator::AllocatorDebugSettings::default(),
            buffer_device_address: false,
            allocation_sizes: sizes,
        })
        .map_err(|error| Error::internal(error.to_string()))?;
        Ok(Self {
            inner: Mutex::new(ManuallyDrop::new(inner)),
            raw: Arc::clone(raw),
            non_coherent_atom_size: physical.non_coherent_atom_size.max(1),
            max_allocation,
            types,
        })
    }

    pub(crate) fn raw(&self) -> &Arc<RawDevice> {
        &self.raw
    }

    /// The properties of the memory type that suits the location best.
    pub(crate) fn best_type(&self, location: MemoryLocation) -> vk::MemoryPropertyFlags {
        let best = types_for(location, u32::MAX, &self.types).first().copied();
        best.map_or(vk::MemoryPropertyFlags::empty(), |index| self.types[index].properties)
    }

    /// Allocates memory for `buffer`. It starts and ends at nonCoherentAtomSize, so that flushing or
    /// invalidating it never affects a neighbour.
    ///
    /// The memory types that suit the location are tried in the order of their rank. Small buffers share
    /// blocks; if there is no memory for another block, there may be for the buffer alone.
    pub(crate) fn allocate(
        &self,
        (name, buffer): (&str, vk::Buffer),
        requirements: vk::MemoryRequirements,
        location: MemoryLocation,
    ) -> Result<Allocation> {
        let needed = requirements.size;
        let requirements = self.whole_atoms(name, requirements)?;
        let shared = std::iter::once(AllocationScheme::GpuAllocatorManaged);
        // Vulkan requires dedicated memory to have exactly the size that the buffer needs.
        let alone =
            (requirements.size == needed).then_some(AllocationScheme::DedicatedBuffer(buffer));
        let schemes = shared.chain(alone);
        let mut result = Err(AllocationError::NoCompatibleMemoryTypeFound);
        for memory_type in types_for(location, requirements.memory_type_bits, &self.types) {
            for allocation_scheme in schemes.clone() {
                result = self.inner.lock().unwrap_or_else(PoisonError::into_inner).allocate(
                    &AllocationCreateDesc {
                        name,
                        requirements: vk::MemoryRequirements {
                            memory_type_bits: 1 << memory_type,
                            ..requirements
                        },
                        // The type was chosen already.
                        location: gpu_allocator::MemoryLocation::Unknown,
                        linear: true,
                        allocation_scheme,
                    },
                );
                if !matches!(result, Err(AllocationError::OutOfMemory)) {
                    return result
                        .map_err(|error| self.raw.remember(allocation_error(name, error)));
                }
            }
        }
        result.map_err(|error| self.raw.remember(allocation_error(name, error)))
    }

    /// The requirements rounded to whole atoms of non-coherent memory, if that size can be allocated.
    fn whole_atoms(
        &self,
        name: &str,
        requirements: vk::MemoryRequirements,
    ) -> Result<vk::MemoryRequirements> {
        let atom = self.non_coherent_atom_size;
        let size = requirements.size.checked_next_multiple_of(atom);
        let size = size.filter(|size| *size <= self.max_allocation);
        let size = size.ok_or_else(|| Error::LimitExceeded {
            what: format!("memory of buffer `{name}`"),
            limit: "maxMemoryAllocationSize",
            needed: requirements.size,
            available: self.max_allocation,
        })?;
        Ok(vk::MemoryRequirements {
            size,
            alignment: requirements.alignment.max(atom),
            ..requirements
        })
    }

    /// Frees memory, to which no buffer is bound any more.
    pub(crate) fn free(&self, allocation: Allocation) {
        let result = self.inner.lock().unwrap_or_else(PoisonError::into_inner).free(allocation);
        if let Err(error) = result {
            log::error!("freeing memory failed: {error}");
        }
    }

    pub(crate) fn report(&self) -> MemoryReport {
        let report = self.inner.lock().unwrap_or_else(PoisonError::into_inner).generate_report();
        MemoryReport {
            buffers: report.allocations.len(),
            allocated: report.total_allocated_bytes,
            blocks: report.blocks.len(),
            reserved: report.total_capacity_bytes,
        }
    }

    /// Makes the host's writes to `offset..offset + size` of `allocation` visible to the device.
    pub(crate) fn flush(&self, allocation: &Allocation, offset: u64, size: u64) -> Result<()> {
        let Some(range) = self.non_coherent_range(allocation, offset, size) else { return Ok(()) };
        // SAFETY: the memory is mapped and alive, and the range is rounded to the atom size.
        let result = unsafe { self.raw.core().flush_mapped_memory_ranges(&[range]) };
        self.raw.check("vkFlushMappedMemoryRanges", result)
    }

    /// Makes the device's writes to `offset..offset + size` of `allocation` visible to the host.
    pub(crate) fn invalidate(&self, allocation: &Allocation, offset: u64, size: u64) -> Result<()> {
        let Some(range) = self.non_coherent_range(allocation, offset, size) else { return Ok(()) };
        // SAFETY: the memory is mapped and alive, and the range is rounded to the atom size.
        let result = unsafe { self.raw.core().invalidate_mapped_memory_ranges(&[range]) };
        self.raw.check("vkInvalidateMappedMemoryRanges", result)
    }

    fn non_coherent_range(
        &self,
        allocation: &Allocation,
        offset: u64,
        size: u64,
    ) -> Option<vk::MappedMemoryRange<'static>> {
        let flags = allocation.memory_properties();
        if size == 0 || flags.contains(vk::MemoryPropertyFlags::HOST_COHERENT) {
            return None;
        }
        let (start, size) =
            round_to_atom(allocation.offset() + offset, size, self.non_coherent_atom_size);
        // SAFETY: the handle is only named in the range; the allocation outlives its use.
        let memory = unsafe { allocation.memory() };
        Some(vk::MappedMemoryRange::default().memory(memory).offset(start).size(size))
    }
}

impl Drop for MemoryAllocator {
    fn drop(&mut self) {
        if self.raw.is_forked() {
            return;
        }
        let inner = self.inner.get_mut().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: `self` is dropped, so nobody uses the allocator afterwards. Its device is alive: `self` has a
        // reference to it.
        unsafe { ManuallyDrop::drop(inner) };
    }
}

/// The memory types among `allowed` (bits) that suit the location, the best one first. `types` are all of the
/// device.
fn types_for(location: MemoryLocation, allowed: u32, types: &[MemoryType]) -> Vec<usize> {
    let ranked = (0..u32::BITS).zip(types).enumerate().filter_map(|(index, (bit, memory))| {
        let is_allowed = allowed & 1 << bit != 0;
        Some((location.rank(memory).filter(|_| is_allowed)?, index))
    });
    let mut ranked: Vec<_> = ranked.collect();
    ranked.sort();
    ranked.into_iter().map(|(_, index)| index).collect()
}

/// The smallest range of whole atoms around `offset..offset + size`, as offset and size.
fn round_to_atom(offset: u64, size: u64, atom: u64) -> (u64, u64) {
    let start = offset - offset % atom;
    (start, (offset + size).next_multiple_of(atom) - start)
}

/// gpu-allocator turns most result codes into text, from which they are recognized here.
fn allocation_error(name: &str, error: AllocationError) -> Error {
    let call = "vkAllocateMemory";
    match error {
        AllocationError::OutOfMemory => Error::OutOfMemory { kind: MemoryKind::Device, call },
        AllocationError::FailedToMap(text) => {
            log::warn!("mapping memory of buffer `{name}` failed: {text}");
            // Unless the text says otherwise, the host's address space is exhausted.
            let device = text == vk::Result::ERROR_OUT_OF_DEVICE_MEMORY.to_string();
            let kind = if device { MemoryKind::Device } else { MemoryKind::Host };
            Error::OutOfMemory { kind, call: "vkMapMemory" }
        }
        AllocationError::NoCompatibleMemoryTypeFound => {
            Error::unsupported(format!("buffer `{name}`"), "no memory type fits its location")
        }
        AllocationError::Internal(text) if text.contains("ERROR_OUT_OF_HOST_MEMORY") => {
            Error::OutOfMemory { kind: MemoryKind::Host, call }
        }
        AllocationError::Internal(text) if text.contains("ERROR_TOO_MANY_OBJECTS") => {
            Error::OutOfMemory { kind: MemoryKind::Device, call }
        }
        AllocationError::Internal(text) if text.contains("ERROR_DEVICE_LOST") => {
            Error::DeviceLost { call }
        }
        other => Error::internal(format!("memory of buffer `{name}`: {other}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_grow_to_whole_atoms() {
        assert_eq!(round_to_atom(0, 1, 256), (0, 256));
        assert_eq!(round_to_atom(255, 2, 256), (0, 512));
        assert_eq!(round_to_atom(512, 256, 256), (512, 256));
        assert_eq!(round_to_atom(5, 7, 1), (5, 7));
    }

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

    #[test]
    fn host_memory_and_loss_are_told_apart() {
        let internal = |code: &str| {
            AllocationError::Internal(format!("Unexpected error in vkAllocateMemory: {code}"))
        };
        let host = allocation_error("b", internal("ERROR_OUT_OF_HOST_MEMORY"));
        assert!(matches!(host, Error::OutOfMemory { kind: MemoryKind::Host, .. }));
        assert!(allocation_error("b", internal("ERROR_DEVICE_LOST")).is_device_lost());
        assert!(matches!(allocation_error("b", internal("ERROR_UNKNOWN")), Error::Internal { .. }));
    }
}
