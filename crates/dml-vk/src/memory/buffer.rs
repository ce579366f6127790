//! Buffers: with memory of their own, or the caller's.

use std::fmt;
use std::ops::{BitAnd, BitOr};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};

use ash::vk;
use gpu_allocator::vulkan::Allocation;

use crate::device::Device;
use crate::error::{Error, Result};
use crate::memory::allocator::{MemoryAllocator, MemoryLocation};

/// What a buffer may be used for: a set of flags, combined with `|`.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct BufferUsage(vk::BufferUsageFlags);

impl BufferUsage {
    /// Kernels read and write it.
    pub const STORAGE: Self = Self(vk::BufferUsageFlags::STORAGE_BUFFER);
    /// Copies read from it.
    pub const TRANSFER_SRC: Self = Self(vk::BufferUsageFlags::TRANSFER_SRC);
    /// Fills, updates and copies write to it.
    pub const TRANSFER_DST: Self = Self(vk::BufferUsageFlags::TRANSFER_DST);

    /// No use.
    pub const fn empty() -> Self {
        Self(vk::BufferUsageFlags::empty())
    }

    /// Everything: storage, source and destination of transfers.
    pub fn all() -> Self {
        Self::STORAGE | Self::TRANSFER_SRC | Self::TRANSFER_DST
    }

    /// Whether every flag of `other` is in `self`.
    pub fn contains(self, other: Self) -> bool {
        self.0.contains(other.0)
    }

    /// Whether there is no flag.
    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// Vulkan's flags.
    pub fn to_vk(self) -> vk::BufferUsageFlags {
        self.0
    }
}

impl BitOr for BufferUsage {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitAnd for BufferUsage {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl fmt::Display for BufferUsage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [
            (Self::STORAGE, "STORAGE"),
            (Self::TRANSFER_SRC, "TRANSFER_SRC"),
            (Self::TRANSFER_DST, "TRANSFER_DST"),
        ];
        let set: Vec<_> =
            names.iter().filter(|(flag, _)| self.contains(*flag)).map(|(_, name)| *name).collect();
        f.write_str(&if set.is_empty() { "none".to_owned() } else { set.join(" | ") })
    }
}

impl fmt::Debug for BufferUsage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// How to create a [`Buffer`].
#[derive(Clone, Copy, Debug)]
pub struct BufferDesc<'a> {
    /// Bytes, at least 1; rounded up to a multiple of 4.
    pub size: u64,
    /// What it is used for, at least one flag.
    pub usage: BufferUsage,
    /// Where its memory is.
    pub location: MemoryLocation,
    /// A name for debuggers, validation messages and errors.
    pub name: &'a str,
}

/// A buffer with its memory. Its contents are undefined until written. A caller's own VkBuffer is
/// wrapped with [`Device::wrap_buffer`] and never destroyed.
///
/// A cheap handle: clones share the buffer. Work in flight keeps the buffers that it uses alive.
#[derive(Clone, Debug)]
pub struct Buffer {
    pub(crate) shared: Arc<BufferShared>,
}

impl Device {
    /// Creates a buffer.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] where size or usage is empty, [`Error::LimitExceeded`] beyond
    /// maxBufferSize or maxMemoryAllocationSize, [`Error::OutOfMemory`] (the device remains
    /// usable), [`Error::DeviceLost`]. Where a cap takes transfer usage away, the buffer lacks it and
    /// is in memory that the host sees; one of transfer usage alone is [`Error::Unsupported`].
    pub fn create_buffer(&self, desc: &BufferDesc<'_>) -> Result<Buffer> {
        self.shared.raw.ensure_alive()?;
        let desc = &self.within_usages(desc)?;
        let size = self.checked_size(desc)?;
        let raw = &self.shared.raw;
        let info = vk::BufferCreateInfo::default()
            .size(size)
            .usage(desc.usage.to_vk())
            .sharing_mode(vk::SharingMode::EXCLUSIVE);
        // SAFETY: the size is within the device's limits and the usage is not empty.
        let handle = unsafe { raw.core().create_buffer(&info, None) };
        // From here on `shared` destroys the handle, whatever fails.
        let mut shared = BufferShared {
            handle: raw.check("vkCreateBuffer", handle)?,
            allocation: Allocation::default(),
            allocator: Arc::clone(&self.shared.allocator),
            size,
            usage: desc.usage,
            location: desc.location,
            name: desc.name.to_owned(),
            owned: true,
            host: Mutex::new(()),
        };
        raw.set_name(shared.handle, desc.name);
        // SAFETY: the buffer was just created on this device.
        let requirements = unsafe { raw.core().get_buffer_memory_requirements(shared.handle) };
        shared.allocation =
            self.shared.allocator.allocate(desc.name, requirements, desc.location)?;
        shared.bind()?;
        Ok(Buffer { shared: Arc::new(shared) })
    }

    /// `desc` as far as the device's buffers may have its usage. Without transfers the bytes are
    /// moved through mapped memory, so the host must see it.
    fn within_usages<'a>(&self, desc: &BufferDesc<'a>) -> Result<BufferDesc<'a>> {
        let usage = desc.usage & self.buffer_usages();
        if usage == desc.usage {
            return Ok(*desc);
        }
        if usage.is_empty() {
            let lacking = format!("{}, which the device's cap takes away", desc.usage);
            return Err(Error::unsupported(format!("buffer `{}`", desc.name), lacking));
        }
        let location = match desc.location {
            MemoryLocation::Device => MemoryLocation::Readback,
            visible => visible,
        };
        Ok(BufferDesc { usage, location, ..*desc })
    }

    fn checked_size(&self, desc: &BufferDesc<'_>) -> Result<u64> {
        let what = || format!("buffer `{}`", desc.name);
        if desc.size == 0 {
            return Err(Error::invalid(what(), "its size is 0 bytes, at least 1 is needed"));
        }
        if desc.usage.is_empty() {
            return Err(Error::invalid(what(), "its usage is empty"));
        }
        let size = desc.size.checked_next_multiple_of(4).unwrap_or(u64::MAX);
        let limits = &self.shared.capabilities.limits;
        let checks = [
            ("maxBufferSize", limits.max_buffer_size),
            ("maxMemoryAllocationSize", limits.max_memory_allocation_size),
        ];
        match checks.into_iter().find(|(_, available)| size > *available) {
            None => Ok(size),
            Some((limit, available)) => {
                Err(Error::LimitExceeded { what: what(), limit, needed: size, available })
            }
        }
    }
}

impl Buffer {
    /// Bytes: what was asked for, rounded up to a multiple of 4; of a wrapped buffer what was stated.
    pub fn size(&self) -> u64 {
        self.shared.size
    }

    /// What it may be used for.
    pub fn usage(&self) -> BufferUsage {
        self.shared.usage
    }

    /// Where its memory is. That of a wrapped buffer counts as [`MemoryLocation::Device`].
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

    /// Whether the buffer was created by `device`.
    pub(crate) fn is_of(&self, device: &Device) -> bool {
        Arc::ptr_eq(&self.shared.allocator, &device.shared.allocator)
    }
}

/// A VkBuffer with its memory, or the caller's.
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
    /// Whoever holds it may touch the mapped memory.
    pub(crate) host: Mutex<()>,
}

impl BufferShared {
    /// A caller's buffer: without memory that this crate knows of.
    pub(crate) fn of_caller(
        handle: vk::Buffer,
        allocator: Arc<MemoryAllocator>,
        size: u64,
        usage: BufferUsage,
        name: &str,
    ) -> Self {
        Self {
            handle,
            allocation: Allocation::default(),
            allocator,
            size,
            usage,
            location: MemoryLocation::Device,
            name: name.to_owned(),
            owned: false,
            host: Mutex::new(()),
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

    /// The buffer's first byte, where the host sees its memory.
    pub(crate) fn mapped(&self) -> Option<NonNull<u8>> {
        self.allocation.mapped_ptr().map(NonNull::cast)
    }
}

impl Drop for BufferShared {
    fn drop(&mut self) {
        if !self.owned {
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
    fn usages_are_a_set() {
        let both = BufferUsage::STORAGE | BufferUsage::TRANSFER_DST;
        assert!(both.contains(BufferUsage::STORAGE));
        assert!(!both.contains(BufferUsage::TRANSFER_SRC));
        assert_eq!(both.to_string(), "STORAGE | TRANSFER_DST");
        assert_eq!(BufferUsage::empty().to_string(), "none");
    }
}
