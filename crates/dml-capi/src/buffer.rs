//! Buffers: created by the library, or wrapped.

use std::ffi::c_void;

use dml::vk::RawBufferDesc;
use dml::{Buffer, BufferUsage, Device};

use crate::boundary::{Failure, Result, call};
use crate::handle::{Object, create, get, remove};
use crate::memory::read_sized;
use crate::types::{DmlVkBuffer, DmlVkDevice, HRESULT, VkBuffer};

/// A buffer that the caller owns, for dmlvk_wrap_buffer.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DmlVkRawBufferDesc {
    /// sizeof(DmlVkRawBufferDesc).
    pub struct_size: u32,
    /// VkBufferCreateInfo::usage. VK_BUFFER_USAGE_STORAGE_BUFFER_BIT is required. Operators are usually faster
    /// with transfer usage (TRANSFER_DST if it is written, TRANSFER_SRC if it is read). Other bits are ignored.
    pub usage: u32,
    /// The buffer.
    pub buffer: VkBuffer,
    /// VkBufferCreateInfo::size.
    pub size: u64,
}

pub(crate) struct BufferObject {
    pub(crate) device: Device,
    pub(crate) buffer: Buffer,
}

impl Object for BufferObject {
    const KIND: &'static str = "buffer";
}

/// Creates a buffer of `size` bytes in device memory, for all uses.
///
/// # Safety
///
/// `buffer` is null or points to memory for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dmlvk_create_buffer(
    device: DmlVkDevice,
    size: u64,
    buffer: *mut DmlVkBuffer,
) -> HRESULT {
    let make = || {
        let device = Device::clone(&*get(device)?);
        Ok(BufferObject { buffer: device.create_buffer(size)?, device })
    };
    // SAFETY: the caller's promise.
    unsafe { create("dmlvk_create_buffer", (buffer, "buffer"), Some(device), make) }
}

/// Wraps a buffer that the caller owns. It can be bound at any offset that is a multiple of 16. The VkBuffer is
/// never destroyed.
///
/// # Safety
///
/// `desc` is null or points to a DmlVkRawBufferDesc; `buffer` is null or points to memory for a handle. The
/// VkBuffer belongs to this VkDevice, is bound to memory, has the stated size and usage, belongs to the
/// device's queue family or is shared with it, and outlives the handle, every binding table that it is bound
/// in, and every execution of commands that were recorded from one. Two buffers that are bound together share
/// memory only if they are the same VkBuffer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dmlvk_wrap_buffer(
    device: DmlVkDevice,
    desc: *const DmlVkRawBufferDesc,
    buffer: *mut DmlVkBuffer,
) -> HRESULT {
    let make = || {
        let device = Device::clone(&*get(device)?);
        // SAFETY: the caller's promise.
        let desc = unsafe { read_sized(desc, "desc") }?;
        let (handle, size, usage) =
            (desc.buffer, desc.size, BufferUsage::from_bits_truncate(desc.usage));
        let raw = RawBufferDesc { handle, size, usage, name: "buffer" };
        // SAFETY: the caller's promise.
        let buffer = unsafe { device.vulkan().wrap_buffer(&raw) }?;
        Ok(BufferObject { device, buffer })
    };
    // SAFETY: the caller's promise.
    unsafe { create("dmlvk_wrap_buffer", (buffer, "buffer"), Some(device), make) }
}

/// Writes `size` bytes to a buffer at `offset`, after all work that this library has submitted, and waits.
/// Needs a queue.
///
/// # Safety
///
/// `data` is null or points to `size` bytes. The caller's command buffers that use these bytes have
/// completed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dmlvk_write_buffer(
    buffer: DmlVkBuffer,
    offset: u64,
    data: *const c_void,
    size: u64,
) -> HRESULT {
    call("dmlvk_write_buffer", || {
        let object = get::<BufferObject, _>(buffer)?;
        let size = host_size(&object.buffer, offset, size)?;
        if data.is_null() {
            return Err(Failure::invalid("data", "null"));
        }
        // SAFETY: the caller's promise; the size is that of something that exists.
        let bytes = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), size) };
        object.device.vulkan().write_buffer(&object.buffer, offset, bytes)?;
        Ok(())
    })
}

/// Reads `size` bytes of a buffer at `offset`, after all work that this library has submitted, and waits.
/// Needs a queue.
///
/// # Safety
///
/// `data` is null or points to memory for `size` bytes. The caller's command buffers that write these bytes
/// have completed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dmlvk_read_buffer(
    buffer: DmlVkBuffer,
    offset: u64,
    data: *mut c_void,
    size: u64,
) -> HRESULT {
    call("dmlvk_read_buffer", || {
        let object = get::<BufferObject, _>(buffer)?;
        host_size(&object.buffer, offset, size)?;
        if data.is_null() {
            return Err(Failure::invalid("data", "null"));
        }
        let bytes = object.device.vulkan().read_buffer(&object.buffer, offset..offset + size)?;
        let data = data.cast::<u8>();
        // SAFETY: the caller's promise; as many bytes were read as were asked for.
        unsafe { data.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Ok(())
    })
}

/// `size` as a host size, if that many bytes from `offset` on are inside the buffer and fit host memory.
fn host_size(buffer: &Buffer, offset: u64, size: u64) -> Result<usize> {
    let inside = offset.checked_add(size).is_some_and(|end| end <= buffer.size());
    let of_host = usize::try_from(size).ok().filter(|size| isize::try_from(*size).is_ok());
    of_host.filter(|_| inside).ok_or_else(|| {
        let problem = format_args!(
            "{size} bytes at offset {offset} (accepted: a range inside the buffer's {} bytes)",
            buffer.size()
        );
        Failure::invalid("offset, size", problem)
    })
}

/// Destroys a buffer handle; a wrapped VkBuffer is not destroyed. Binding tables keep a created buffer alive.
#[unsafe(no_mangle)]
pub extern "C" fn dmlvk_destroy_buffer(buffer: DmlVkBuffer) -> HRESULT {
    call("dmlvk_destroy_buffer", || remove::<BufferObject, _>(buffer))
}
