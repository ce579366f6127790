//! Buffers of a device: created, or the caller's own.

use std::sync::Arc;

use ash::vk;

use crate::device::Device;
use crate::error::{Error, Result};
use crate::memory::buffer::{Buffer, BufferDesc, BufferShared, BufferUsage};
use crate::memory::types::MemoryLocation;

/// A caller's buffer, for [`Device::wrap_buffer`].
#[derive(Clone, Copy, Debug)]
pub struct RawBufferDesc<'a> {
    /// The VkBuffer.
    pub handle: vk::Buffer,
    /// VkBufferCreateInfo::size.
    pub size: u64,
    /// The part of VkBufferCreateInfo::usage that may be used. Vulkan cannot be asked for it.
    pub usage: BufferUsage,
    /// A name for errors. The object's own name is left alone.
    pub name: &'a str,
}

impl Device {
    /// Creates a buffer.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if size or usage is empty, [`Error::LimitExceeded`] beyond maxBufferSize or
    /// maxMemoryAllocationSize, [`Error::OutOfMemory`] (the device remains usable), [`Error::DeviceLost`]. If
    /// a cap removes transfer usage, the buffer lacks it and is in mapped memory; a buffer of transfer usage
    /// alone is [`Error::Unsupported`].
    pub fn create_buffer(&self, desc: &BufferDesc<'_>) -> Result<Buffer> {
        self.shared.raw.ensure_alive()?;
        let desc = &self.within_usages(desc)?;
        let size = self.checked_size(desc)?;
        let shared = BufferShared::new(&self.shared.allocator, desc, size)?;
        Ok(Buffer { shared: Arc::new(shared) })
    }

    /// `desc` with the usages that buffers of the device may have. Without transfer usage, bytes are copied
    /// through mapped memory, so the host must be able to map it.
    fn within_usages<'a>(&self, desc: &BufferDesc<'a>) -> Result<BufferDesc<'a>> {
        let usage = desc.usage & (self.buffer_usages() | BufferUsage::UNIFORM);
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

    /// Wraps a buffer that the caller owns, to be bound at any legal offset.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the handle is null, the size is 0, or the usage is empty;
    /// [`Error::Unsupported`] if a cap removes all usages.
    ///
    /// # Safety
    ///
    /// - `handle` is a VkBuffer of this device with this size, bound to memory, created with (at
    ///   least) this usage, and owned by the device's queue family or shared with it.
    /// - It outlives the result, every binding table that it is bound in, and every execution of
    ///   what was recorded from one.
    /// - Two buffers that are bound together share memory only where they share this handle: overlap
    ///   is judged by VkBuffer and range.
    pub unsafe fn wrap_buffer(&self, desc: &RawBufferDesc<'_>) -> Result<Buffer> {
        let what = || format!("buffer `{}`", desc.name);
        if desc.handle == vk::Buffer::null() {
            return Err(Error::invalid(what(), "its handle is null"));
        }
        if desc.size == 0 {
            return Err(Error::invalid(what(), "its size is 0 bytes, at least 1 is needed"));
        }
        if desc.usage.is_empty() {
            return Err(Error::invalid(what(), "its usage is empty"));
        }
        let usage = desc.usage & (self.buffer_usages() | BufferUsage::UNIFORM);
        if usage.is_empty() {
            let lacking = format!("{}, which the device's cap takes away", desc.usage);
            return Err(Error::unsupported(what(), lacking));
        }
        let location = MemoryLocation::Device;
        let used = BufferDesc { size: desc.size, usage, location, name: desc.name };
        let shared = BufferShared::of_caller(desc.handle, &self.shared.allocator, &used);
        Ok(Buffer { shared: Arc::new(shared) })
    }

    /// Whether `buffer` belongs to this device.
    pub(crate) fn owns(&self, buffer: &Buffer) -> bool {
        Arc::ptr_eq(&buffer.shared.allocator, &self.shared.allocator)
    }

    /// Fails if `buffer` belongs to another device.
    pub(crate) fn check_owns(&self, buffer: &Buffer) -> Result<()> {
        if self.owns(buffer) {
            return Ok(());
        }
        Err(buffer.invalid("it belongs to another device"))
    }
}
