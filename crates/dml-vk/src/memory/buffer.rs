//! Buffers, with their own memory or with the caller's.

use std::fmt;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use ash::vk;
use gpu_allocator::vulkan::Allocation;

use crate::error::{Error, Result};
use crate::memory::allocator::MemoryAllocator;
use crate::memory::types::MemoryLocation;

bitflags::bitflags! {
    /// The usages of a buffer: a set of flags, combined with `|`. The bits are Vulkan's.
    #[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
    pub struct BufferUsage: vk::Flags {
        /// Kernels read and write it.
        const STORAGE = vk::BufferUsageFlags::STORAGE_BUFFER.as_raw();
        /// Copies read from it.
        const TRANSFER_SRC = vk::BufferUsageFlags::TRANSFER_SRC.as_raw();
        /// Fills, updates and copies write to it.
        const TRANSFER_DST = vk::BufferUsageFlags::TRANSFER_DST.as_raw();
    }
}

impl BufferUsage {
    /// Kernels have uniform blocks in it: the constants of plans. Not a usage that users can request.
    pub(crate) const UNIFORM: Self =
        Self::from_bits_retain(vk::BufferUsageFlags::UNIFORM_BUFFER.as_raw());

    /// Vulkan's flags.
    pub fn to_vk(self) -> vk::BufferUsageFlags {
        vk::BufferUsageFlags::from_raw(self.bits())
    }
}

impl fmt::Display for BufferUsage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("none");
        }
        bitflags::parser::to_writer(self, f)
    }
}

impl fmt::Debug for BufferUsage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The parameters for creating a [`Buffer`].
#[derive(Clone, Copy, Debug)]
pub struct BufferDesc<'a> {
    /// Size in bytes, at least 1; rounded up to a multiple of 4.
    pub size: u64,
    /// The usages, at least one flag.
    pub usage: BufferUsage,
    /// The location of its memory.
    pub location: MemoryLocation,
    /// A name for debuggers, validation messages and errors.
    pub name: &'a str,
}

/// A buffer with its memory. Its contents are undefined until written. A caller's own VkBuffer is
/// wrapped with [`crate::Device::wrap_buffer`] and never destroyed.
///
/// A cheap handle: clones share the buffer. Work in flight keeps the buffers that it uses alive.
#[derive(Clone, Debug)]
pub struct Buffer {
    pub(crate) shared: Arc<BufferShared>,
}

impl Buffer {
    /// Size in bytes: as requested, rounded up to a multiple of 4; for a wrapped buffer as stated.
    pub fn size(&self) -> u64 {
        self.shared.size
    }

    /// The usages of the buffer.
    pub fn usage(&self) -> BufferUsage {
        self.shared.usage
    }

    /// The location of its memory. A wrapped buffer counts as [`MemoryLocation::Device`].
    pub fn location(&self) -> MemoryLocation {
        self.shared.location
    }

    /// The name it was created with.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// The VkBuffer. It must not be destroyed.
    pub fn raw(&self) -> vk::Buffer {
        self.shared.handle
    }

    /// `start..end` if it lies inside the buffer, else an error; `end` is `None` if it does not fit 64 bits.
    pub(crate) fn range(&self, start: u64, end: Option<u64>) -> Result<Range<u64>> {
        match end {
            Some(end) if start <= end && end <= self.size() => Ok(start..end),
            _ => Err(self.invalid(format!(
                "bytes {start}..{} are not inside its {} bytes",
                end.map_or("beyond 64 bits".to_owned(), |end| end.to_string()),
                self.size()
            ))),
        }
    }

    pub(crate) fn require_usage(&self, usage: BufferUsage, verb: &str) -> Result<()> {
        if self.usage().contains(usage) {
            return Ok(());
        }
        Err(self
            .invalid(format!("its usage is {}, to be {verb} here it needs {usage}", self.usage())))
    }

    /// The error for a wrong use of this buffer.
    pub(crate) fn invalid(&self, problem: impl Into<String>) -> Error {
        Error::invalid(format!("buffer `{}`", self.name()), problem)
    }
}

/// A VkBuffer, with its own memory or the caller's.
pub(crate) struct BufferShared {
    pub(crate) handle: vk::Buffer,
    pub(crate) allocation: Allocation,
    pub(crate) allocator: Arc<MemoryAllocator>,
    size: u64,
    usage: BufferUsage,
    location: MemoryLocation,
    name: String,
    /// Whether the VkBuffer is destroyed with `self`.
    owned: bool,
    /// The holder of this lock may access the mapped memory.
    pub(crate) host: Mutex<()>,
    /// The value that the last submission that uses the buffer signals; 0 before the first.
    last_use: AtomicU64,
    /// The number of host copies from or to the buffer in progress; changed under the queue's lock alone.
    host_copies: AtomicU32,
}

impl BufferShared {
    /// A new buffer of `size` bytes with memory. `desc` is within the device's limits, and its usage
    /// not empty.
    pub(crate) fn new(
        allocator: &Arc<MemoryAllocator>,
        desc: &BufferDesc<'_>,
        size: u64,
    ) -> Result<Self> {
        let raw = allocator.raw();
        let info = vk::BufferCreateInfo::default()
            .size(size)
            .usage(desc.usage.to_vk())
            .sharing_mode(vk::SharingMode::EXCLUSIVE);
        // SAFETY: the size is within the device's limits and the usage is not empty.
        let handle = unsafe { raw.core().create_buffer(&info, None) };
        let handle = raw.check("vkCreateBuffer", handle)?;
        // From here on `shared` destroys the handle, whatever fails.
        let mut shared = Self::of_caller(handle, allocator, &BufferDesc { size, ..*desc });
        shared.owned = true;
        raw.set_name(handle, desc.name);
        // SAFETY: the buffer was just created on this device.
        let requirements = unsafe { raw.core().get_buffer_memory_requirements(handle) };
        shared.allocation = allocator.allocate((desc.name, handle), requirements, desc.location)?;
        shared.bind()?;
        Ok(shared)
    }

    /// A caller's buffer, whose memory this crate does not manage.
    pub(crate) fn of_caller(
        handle: vk::Buffer,
        allocator: &Arc<MemoryAllocator>,
        desc: &BufferDesc<'_>,
    ) -> Self {
        Self {
            handle,
            allocation: Allocation::default(),
            allocator: Arc::clone(allocator),
            size: desc.size,
            usage: desc.usage,
            location: desc.location,
            name: desc.name.to_owned(),
            owned: false,
            host: Mutex::new(()),
            last_use: AtomicU64::new(0),
            host_copies: AtomicU32::new(0),
        }
    }

    fn bind(&self) -> Result<()> {
        let raw = self.allocator.raw();
        // SAFETY: the handle is only named in the call below; the allocation lives as long as the
        // buffer.
        let memory = unsafe { self.allocation.memory() };
        let offset = self.allocation.offset();
        // SAFETY: the memory was allocated for this buffer's requirements and nothing is bound yet.
        let result = unsafe { raw.core().bind_buffer_memory(self.handle, memory, offset) };
        raw.check("vkBindBufferMemory", result)
    }

    /// Records that the submission with this `value` uses the buffer. No other submission happens meanwhile.
    pub(crate) fn note_submitted(&self, value: u64) {
        self.last_use.store(value, Ordering::Release);
    }

    pub(crate) fn last_use(&self) -> u64 {
        self.last_use.load(Ordering::Acquire)
    }

    /// Counts a host copy. Called under the queue's lock.
    pub(crate) fn host_copy_begins(&self) {
        self.host_copies.fetch_add(1, Ordering::Relaxed);
    }

    /// Ends the count of a host copy. Called under the queue's lock.
    pub(crate) fn host_copy_ends(&self) {
        self.host_copies.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether the host is copying from or to the buffer. Called under the queue's lock.
    pub(crate) fn is_copied_by_host(&self) -> bool {
        self.host_copies.load(Ordering::Relaxed) > 0
    }

    /// The buffer's first byte, if its memory is mapped.
    pub(crate) fn mapped(&self) -> Option<NonNull<u8>> {
        self.allocation.mapped_ptr().map(NonNull::cast)
    }
}

impl Drop for BufferShared {
    fn drop(&mut self) {
        if !self.owned || self.allocator.raw().is_forked() {
            return;
        }
        // SAFETY: whoever uses the buffer owns a reference to `self`, work in flight included.
        unsafe { self.allocator.raw().core().destroy_buffer(self.handle, None) };
        self.allocator.free(std::mem::take(&mut self.allocation));
    }
}

impl fmt::Debug for BufferShared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BufferShared")
            .field("name", &self.name)
            .field("size", &self.size)
            .field("usage", &self.usage)
            .field("location", &self.location)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usages_are_named() {
        let both = BufferUsage::STORAGE | BufferUsage::TRANSFER_DST;
        assert_eq!(both.to_string(), "STORAGE | TRANSFER_DST");
        assert_eq!(BufferUsage::empty().to_string(), "none");
    }
}
