//! Moving bytes between the host and buffers.
//!
//! Where the host sees a buffer's memory the bytes are copied directly, else through a staging
//! buffer. Either way the copy happens after everything that this crate submitted before. What a caller
//! submits is the caller's to order, by the contracts of [`crate::record_plan`] and of whatever else it
//! calls: mapped memory is copied from and to by pointers, and no reference into it is ever made.

use std::ops::Range;
use std::ptr::NonNull;
use std::sync::PoisonError;

use ash::vk;

use crate::device::Device;
use crate::error::{Error, MemoryKind, Result};
use crate::memory::allocator::MemoryLocation;
use crate::memory::buffer::{Buffer, BufferDesc, BufferUsage};
use crate::record::recorder::Recorder;

/// Larger transfers go through a staging buffer of this size in several pieces.
const MAX_STAGING: u64 = 64 << 20;

impl Device {
    /// Writes `bytes` to `buffer` from `offset` on, after everything that [`Device::submit`] was given so
    /// far.
    ///
    /// Work that touches the same bytes and is submitted by another thread meanwhile sees
    /// unspecified values.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] where the range is not inside the buffer, where the buffer is of
    /// another device, or where the host cannot see its memory and it lacks TRANSFER_DST;
    /// [`Error::OutOfMemory`], [`Error::DeviceLost`].
    pub fn write_buffer(&self, buffer: &Buffer, offset: u64, bytes: &[u8]) -> Result<()> {
        self.shared.raw.ensure_alive()?;
        let range = self.checked_range(buffer, offset, offset.checked_add(bytes.len() as u64))?;
        if range.is_empty() {
            return Ok(());
        }
        match self.direct_write(buffer) {
            Some(mapped) => {
                let write = || write_mapped(buffer, mapped, range.start, bytes);
                self.queue()?.while_idle(write)
            }
            None => self.write_staged(buffer, range, bytes),
        }
    }

    /// Writes `bytes` to the start of a buffer that nothing submitted has used: without waiting,
    /// where the host sees its memory.
    pub(crate) fn write_unused(&self, buffer: &Buffer, bytes: &[u8]) -> Result<()> {
        let range = self.checked_range(buffer, 0, Some(bytes.len() as u64))?;
        match self.direct_write(buffer) {
            Some(mapped) => write_mapped(buffer, mapped, 0, bytes),
            None => self.write_staged(buffer, range, bytes),
        }
    }

    /// Reads `range` (in bytes) of `buffer`, after everything that [`Device::submit`] was given so far.
    ///
    /// Work that writes the same bytes and is submitted by another thread meanwhile leaves
    /// unspecified values in the result.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] where the range is not inside the buffer, where the buffer is of
    /// another device, or where the host cannot see its memory and it lacks TRANSFER_SRC;
    /// [`Error::OutOfMemory`], [`Error::DeviceLost`].
    pub fn read_buffer(&self, buffer: &Buffer, range: Range<u64>) -> Result<Vec<u8>> {
        self.shared.raw.ensure_alive()?;
        let range = self.checked_range(buffer, range.start, Some(range.end))?;
        let mut bytes = reserve(range.end - range.start)?;
        if range.is_empty() {
            return Ok(bytes);
        }
        match self.direct_read(buffer) {
            Some(mapped) => {
                let read = || read_mapped(buffer, mapped, range, &mut bytes);
                self.queue()?.while_idle(read)?;
            }
            None => self.read_staged(buffer, range, &mut bytes)?,
        }
        Ok(bytes)
    }

    fn checked_range(&self, buffer: &Buffer, start: u64, end: Option<u64>) -> Result<Range<u64>> {
        self.check_owns(buffer)?;
        buffer.range(start, end)
    }

    fn direct_write(&self, buffer: &Buffer) -> Option<NonNull<u8>> {
        let staged = self.shared.always_stage && buffer.location() == MemoryLocation::Device;
        buffer.shared.mapped().filter(|_| !staged)
    }

    /// As for writing, but reading memory that the host does not cache is slower than a copy.
    fn direct_read(&self, buffer: &Buffer) -> Option<NonNull<u8>> {
        let flags = buffer.shared.allocation.memory_properties();
        let cached = flags.contains(vk::MemoryPropertyFlags::HOST_CACHED);
        let can_copy = buffer.usage().contains(BufferUsage::TRANSFER_SRC);
        let direct = cached || !can_copy || buffer.location() != MemoryLocation::Device;
        self.direct_write(buffer).filter(|_| direct)
    }

    fn write_staged(&self, buffer: &Buffer, range: Range<u64>, bytes: &[u8]) -> Result<()> {
        buffer.require_usage(BufferUsage::TRANSFER_DST, "written")?;
        let staging =
            self.staging(MemoryLocation::Upload, BufferUsage::TRANSFER_SRC, bytes.len() as u64)?;
        let piece = usize::try_from(staging.size()).unwrap_or(usize::MAX);
        let mut offset = range.start;
        for part in bytes.chunks(piece) {
            self.write_unused(&staging, part)?;
            let size = part.len() as u64;
            self.copy_and_wait((&staging, 0), (buffer, offset), size)?;
            offset += size;
        }
        Ok(())
    }

    fn read_staged(&self, buffer: &Buffer, range: Range<u64>, bytes: &mut Vec<u8>) -> Result<()> {
        buffer.require_usage(BufferUsage::TRANSFER_SRC, "read")?;
        let total = range.end - range.start;
        let staging = self.staging(MemoryLocation::Readback, BufferUsage::TRANSFER_DST, total)?;
        let mapped = staging
            .shared
            .mapped()
            .ok_or_else(|| Error::internal("read-back memory is not mapped"))?;
        let mut offset = range.start;
        while offset < range.end {
            let size = staging.size().min(range.end - offset);
            self.copy_and_wait((buffer, offset), (&staging, 0), size)?;
            read_mapped(&staging, mapped, 0..size, bytes)?;
            offset += size;
        }
        Ok(())
    }

    fn staging(&self, location: MemoryLocation, usage: BufferUsage, size: u64) -> Result<Buffer> {
        let size = size.min(MAX_STAGING);
        self.create_buffer(&BufferDesc { size, usage, location, name: "dml staging" })
    }

    fn copy_and_wait(&self, from: (&Buffer, u64), to: (&Buffer, u64), size: u64) -> Result<()> {
        let mut recorder = Recorder::new(self)?;
        recorder.copy_buffer(from.0, from.1, to.0, to.1, size)?;
        self.submit(recorder.finish()?)?.wait()
    }
}

fn reserve(size: u64) -> Result<Vec<u8>> {
    let out_of_memory = || Error::OutOfMemory { kind: MemoryKind::Host, call: "read_buffer" };
    let mut bytes = Vec::new();
    let size = usize::try_from(size).map_err(|_| out_of_memory())?;
    bytes.try_reserve_exact(size).map_err(|_| out_of_memory())?;
    Ok(bytes)
}

/// An offset inside mapped memory, which fits the host's address space.
fn host_offset(offset: u64) -> Result<usize> {
    usize::try_from(offset).map_err(|_| Error::internal("a mapped offset exceeds usize"))
}

/// Writes `bytes`, which fit, and flushes them. Nothing that this crate submitted is unfinished.
fn write_mapped(buffer: &Buffer, mapped: NonNull<u8>, offset: u64, bytes: &[u8]) -> Result<()> {
    let shared = &buffer.shared;
    let _guard = shared.host.lock().unwrap_or_else(PoisonError::into_inner);
    let size = bytes.len() as u64;
    // Flushing writes whole atoms of memory that is not coherent: what the device wrote to the rest of
    // the first and the last one is read first.
    shared.allocator.invalidate(&shared.allocation, offset, size)?;
    // SAFETY: the range was checked to lie inside the buffer, whose memory is mapped as a whole.
    let destination = unsafe { mapped.add(host_offset(offset)?) };
    // SAFETY: `destination` is valid for `bytes.len()` bytes as above, and no reference into mapped
    // memory exists; the lock keeps other host threads away. Of the device, this crate's own work has
    // completed, and a caller's stays off these bytes by the promise at `record_plan`.
    unsafe { destination.as_ptr().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    shared.allocator.flush(&shared.allocation, offset, size)
}

/// Appends `range` to `bytes`, which has reserved enough. Nothing that this crate submitted is
/// unfinished.
fn read_mapped(
    buffer: &Buffer,
    mapped: NonNull<u8>,
    range: Range<u64>,
    bytes: &mut Vec<u8>,
) -> Result<()> {
    let shared = &buffer.shared;
    let _guard = shared.host.lock().unwrap_or_else(PoisonError::into_inner);
    let size = range.end - range.start;
    shared.allocator.invalidate(&shared.allocation, range.start, size)?;
    let size = host_offset(size)?;
    bytes.reserve(size);
    let filled = bytes.len();
    // SAFETY: the range was checked to lie inside the buffer, whose memory is mapped as a whole.
    let source = unsafe { mapped.add(host_offset(range.start)?) };
    let spare = bytes.spare_capacity_mut().as_mut_ptr().cast::<u8>();
    // SAFETY: `source` is valid for `size` bytes as above and `spare` for as many as were reserved, and no
    // reference into mapped memory exists; the lock keeps other host threads from writing. Of the device,
    // this crate's own work has completed, and a caller's does not write these bytes by the promise at
    // `record_plan`.
    unsafe { spare.copy_from_nonoverlapping(source.as_ptr(), size) };
    // SAFETY: these bytes were reserved and have just been written.
    unsafe { bytes.set_len(filled + size) };
    Ok(())
}
