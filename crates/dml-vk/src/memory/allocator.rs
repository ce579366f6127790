//! Device memory: gpu-allocator under a lock, with errors that name the call.

use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ash::vk;
use gpu_allocator::vulkan::{
    Allocation, AllocationCreateDesc, AllocationScheme, Allocator, AllocatorCreateDesc,
};
use gpu_allocator::{AllocationError, AllocationSizes};

use crate::error::{Error, MemoryKind, Result};
use crate::instance::physical::PhysicalDevice;
use crate::instance::raw::RawDevice;
use crate::memory::types::{MemoryLocation, MemoryType, types_for};

const MIB: u64 = 1 << 20;

/// Small buffers share a block of memory of at least this size, gpu-allocator's minimum. No device has a lower
/// maxMemoryAllocationSize; a cap may have one, which then only limits buffers.
const MIN_BLOCK: u64 = 4 * MIB;

/// Buffers of at least this size have memory of their own, which is free for others as soon as they are dropped.
const LARGE: u64 = 8 * MIB;

/// The most buffers that have memory of their own before there is no other: every device allows 4096 allocations.
const MOST_ALONE: usize = 1024;

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
    /// The number of buffers that have memory of their own.
    alone: AtomicUsize,
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
            alone: AtomicUsize::new(0),
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
    /// blocks; if there is no memory for another block, there may be for the buffer alone. Large ones are alone, or else
    /// in what blocks have left.
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
        let mut schemes: Vec<_> = shared.chain(alone).collect();
        if needed >= LARGE && self.alone.load(Ordering::Relaxed) < MOST_ALONE {
            schemes.reverse();
        }
        let mut result = Err(AllocationError::NoCompatibleMemoryTypeFound);
        for memory_type in types_for(location, requirements.memory_type_bits, &self.types) {
            for allocation_scheme in schemes.iter().copied() {
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
                if result.as_ref().is_ok_and(Allocation::is_dedicated) {
                    self.alone.fetch_add(1, Ordering::Relaxed);
                }
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
        if allocation.is_dedicated() {
            self.alone.fetch_sub(1, Ordering::Relaxed);
        }
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
