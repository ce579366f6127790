//! Transfers between the host and buffers, in calls that wait.
//!
//! If the host can map a buffer's memory, bytes are copied directly once all of this crate's submissions that
//! use the buffer have completed; otherwise by separate submissions, after everything before. The caller
//! orders its own submissions, by the contracts of [`crate::record_plan`] and of other functions that it
//! calls.

use std::collections::VecDeque;
use std::ops::Range;
use std::ptr::NonNull;

use ash::vk;

use crate::device::Device;
use crate::error::Result;
use crate::memory::buffer::{Buffer, BufferUsage};
use crate::memory::mapped::{read_mapped, write_mapped};
use crate::memory::types::MemoryLocation;
use crate::record::recorder::Recorder;
use crate::record::staged::{ReadBack, zeros};
use crate::record::submit::Submission;

/// Larger transfers go through staging memory in several pieces of this size.
const PIECE: usize = 16 << 20;
/// The number of pieces in flight at once, so that the host copies while the device does.
const PIECES_UNDER_WAY: usize = 3;

/// How the host reaches buffers of [`MemoryLocation::Device`]: in place, or by a copy of the device through staging
/// memory. [`Device::write_buffer`] and [`Device::read_buffer`] choose for each buffer. Where the best memory ran out,
/// buffers may be in memory that is reached otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostAccess {
    /// Bytes are written in place: the host can map the memory.
    pub writes: bool,
    /// Bytes are read in place: the host can map the memory, and caches it.
    pub reads: bool,
}

impl Device {
    /// Writes `bytes` to `buffer` from `offset` on, after all earlier submissions by [`Device::submit`].
    ///
    /// Work of another thread that uses the same bytes and is submitted meanwhile sees unspecified values.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the range is not inside the buffer, the
    /// buffer belongs to another device, or the host cannot map its memory and it lacks TRANSFER_DST;
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::DeviceLost`](crate::Error::DeviceLost).
    pub fn write_buffer(&self, buffer: &Buffer, offset: u64, bytes: &[u8]) -> Result<()> {
        self.shared.raw.ensure_alive()?;
        let range = self.checked_range(buffer, offset, offset.checked_add(bytes.len() as u64))?;
        if range.is_empty() {
            return Ok(());
        }
        match self.direct_write(buffer) {
            Some(mapped) => {
                self.queue()?;
                self.write_mapped_after_use(buffer, mapped, (range.start, bytes))
            }
            None => self.write_staged(buffer, range, bytes),
        }
    }

    /// Writes as [`Device::write_buffer`], without waiting for the device: for constants and weights. Later
    /// submissions through this device, and through [`Device::with_queue`], see the bytes, and so do later calls
    /// of [`Device::read_buffer`].
    ///
    /// If the host cannot map the buffer's memory, uploads are collected: the next submission of any thread submits
    /// them as one batch, as do 16 MiB of them. An upload only waits if more than 64 MiB are under way, for the
    /// oldest ones. If the host can map the memory, the bytes are copied at once, after this crate's submissions that
    /// use the buffer, of which a new buffer has none.
    ///
    /// # Errors
    ///
    /// As [`Device::write_buffer`].
    pub fn upload(&self, buffer: &Buffer, offset: u64, bytes: &[u8]) -> Result<()> {
        self.shared.raw.ensure_alive()?;
        let range = self.checked_range(buffer, offset, offset.checked_add(bytes.len() as u64))?;
        if range.is_empty() {
            return Ok(());
        }
        match self.direct_write(buffer) {
            Some(mapped) => self.write_mapped_after_use(buffer, mapped, (range.start, bytes)),
            None => {
                buffer.require_usage(BufferUsage::TRANSFER_DST, "written")?;
                self.add_upload((buffer, range.start), bytes)
            }
        }
    }

    /// Writes mapped memory once this crate's submissions that use the buffer have completed.
    fn write_mapped_after_use(
        &self,
        buffer: &Buffer,
        mapped: NonNull<u8>,
        (offset, bytes): (u64, &[u8]),
    ) -> Result<()> {
        let write = || write_mapped(buffer, mapped, offset, bytes);
        // A device without a queue submits nothing.
        let Ok(queue) = self.queue() else { return write() };
        queue.copy_by_host(&buffer.shared, || buffer.shared.last_use(), write)
    }

    /// Reads `range` (in bytes) of `buffer`, after all earlier submissions by [`Device::submit`].
    ///
    /// # Errors
    ///
    /// As [`Device::read_buffer_into`].
    pub fn read_buffer(&self, buffer: &Buffer, range: Range<u64>) -> Result<Vec<u8>> {
        let range = self.checked_range(buffer, range.start, Some(range.end))?;
        let mut bytes = zeros(range.end - range.start)?;
        self.read_buffer_into(buffer, range.start, &mut bytes)?;
        Ok(bytes)
    }

    /// Reads as many bytes of `buffer` as `into` has, from `offset` on, after all earlier submissions by
    /// [`Device::submit`].
    ///
    /// Work of another thread that writes the same bytes and is submitted meanwhile leaves unspecified values
    /// in the result.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the range is not inside the buffer, the
    /// buffer belongs to another device, or the host cannot map its memory and it lacks TRANSFER_SRC;
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::DeviceLost`](crate::Error::DeviceLost).
    pub fn read_buffer_into(&self, buffer: &Buffer, offset: u64, into: &mut [u8]) -> Result<()> {
        self.shared.raw.ensure_alive()?;
        let range = self.checked_range(buffer, offset, offset.checked_add(into.len() as u64))?;
        if range.is_empty() {
            return Ok(());
        }
        match self.direct_read(buffer) {
            Some(mapped) => {
                let read = || read_mapped(buffer, mapped, range, into);
                let last = || buffer.shared.last_use();
                self.queue()?.copy_by_host(&buffer.shared, last, read)
            }
            None => self.read_staged(buffer, range, into),
        }
    }

    fn checked_range(&self, buffer: &Buffer, start: u64, end: Option<u64>) -> Result<Range<u64>> {
        self.check_owns(buffer)?;
        buffer.range(start, end)
    }

    /// How the host reaches buffers of [`MemoryLocation::Device`] on this device.
    pub fn host_access(&self) -> HostAccess {
        let properties = self.shared.allocator.best_type(MemoryLocation::Device);
        let visible = properties.contains(vk::MemoryPropertyFlags::HOST_VISIBLE);
        let writes = visible && !self.shared.always_stage;
        HostAccess {
            writes,
            reads: writes && properties.contains(vk::MemoryPropertyFlags::HOST_CACHED),
        }
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
        let mut under_way: VecDeque<Submission> = VecDeque::new();
        let starts = (range.start..).step_by(PIECE);
        for (part, offset) in bytes.chunks(PIECE).zip(starts) {
            if under_way.len() == PIECES_UNDER_WAY
                && let Some(oldest) = under_way.pop_front()
            {
                oldest.wait()?;
            }
            let mut recorder = Recorder::new(self)?;
            recorder.write_buffer(buffer, offset, part)?;
            under_way.push_back(self.submit(recorder.finish()?)?);
        }
        under_way.iter().try_for_each(Submission::wait)
    }

    fn read_staged(&self, buffer: &Buffer, range: Range<u64>, into: &mut [u8]) -> Result<()> {
        buffer.require_usage(BufferUsage::TRANSFER_SRC, "read")?;
        let mut under_way = VecDeque::new();
        let starts = range.clone().step_by(PIECE);
        for (part, start) in into.chunks_mut(PIECE).zip(starts) {
            if under_way.len() == PIECES_UNDER_WAY {
                take_oldest(&mut under_way)?;
            }
            let mut recorder = Recorder::new(self)?;
            let bytes = recorder.read_buffer(buffer, start..start + part.len() as u64)?;
            under_way.push_back((self.submit(recorder.finish()?)?, bytes, part));
        }
        while !under_way.is_empty() {
            take_oldest(&mut under_way)?;
        }
        Ok(())
    }
}

/// Waits for the first of the pieces in flight, and takes its bytes.
fn take_oldest(under_way: &mut VecDeque<(Submission, ReadBack, &mut [u8])>) -> Result<()> {
    under_way.pop_front().map_or(Ok(()), |(_submission, bytes, part)| bytes.read_into(part))
}
