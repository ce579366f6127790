//! Staged transfers as a part of a submission: bytes of the host are written to a buffer, or read from one.

use std::alloc::{Layout, alloc_zeroed};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::device::Device;
use crate::device::staging::StagingBlock;
use crate::error::{Error, MemoryKind, Result};
use crate::memory::buffer::{Buffer, BufferUsage};
use crate::memory::mapped::{read_mapped, write_mapped};
use crate::record::recorder::Recorder;

impl Recorder {
    /// Records that `bytes`, which are copied now, are written to `buffer` from `offset` on. A
    /// [`Recorder::repeatable`] list writes the same bytes each time.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the range is not inside the buffer, the buffer lacks TRANSFER_DST, or
    /// belongs to another device; [`Error::OutOfMemory`], [`Error::DeviceLost`].
    pub fn write_buffer(&mut self, buffer: &Buffer, offset: u64, bytes: &[u8]) -> Result<()> {
        let size = bytes.len() as u64;
        self.check(buffer, BufferUsage::TRANSFER_DST, "written")?;
        buffer.range(offset, offset.checked_add(size))?;
        if bytes.is_empty() {
            return Ok(());
        }
        let device = self.device().clone();
        let take = || device.shared.uploads.take(&device, size);
        let (block, at) = self.staged().uploads.reserve(size, take)?;
        let staging = block.buffer.clone();
        let mapped = staging.shared.mapped();
        let mapped = mapped.ok_or_else(|| Error::internal("upload memory is not mapped"))?;
        write_mapped(&staging, mapped, at, bytes)?;
        self.copy_buffer(&staging, at, buffer, offset, size)
    }

    /// Records that `range` (in bytes) of `buffer` is copied for the host, with its contents at that point.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the range is not inside the buffer, the buffer lacks TRANSFER_SRC, or
    /// belongs to another device; [`Error::OutOfMemory`], [`Error::DeviceLost`].
    pub fn read_buffer(&mut self, buffer: &Buffer, range: Range<u64>) -> Result<ReadBack> {
        self.check(buffer, BufferUsage::TRANSFER_SRC, "read")?;
        let range = buffer.range(range.start, Some(range.end))?;
        let size = range.end - range.start;
        let device = self.device().clone();
        let take = || device.shared.read_backs.take(&device, size);
        let (block, at) = self.staged().read_backs.reserve(size, take)?;
        let submitted = Arc::clone(&self.staged().submitted);
        self.copy_buffer(buffer, range.start, &block.buffer, at, size)?;
        Ok(ReadBack { block, range: at..at + size, submitted, device })
    }
}

/// Bytes that a submission copies for the host, see [`Recorder::read_buffer`].
pub struct ReadBack {
    block: Arc<StagingBlock>,
    range: Range<u64>,
    submitted: Arc<AtomicU64>,
    device: Device,
}

impl ReadBack {
    /// The number of bytes.
    pub fn size(&self) -> u64 {
        self.range.end - self.range.start
    }

    /// Waits for the list's submission, or the last one of several, and copies the bytes to `into`.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the list was not submitted, or `into` has another length;
    /// [`Error::DeviceLost`], [`Error::OutOfMemory`].
    pub fn read_into(&self, into: &mut [u8]) -> Result<()> {
        let (given, needed) = (into.len() as u64, self.size());
        if given != needed {
            let problem = format!("it has {given} bytes, {needed} are needed");
            return Err(Error::invalid("into", problem));
        }
        if self.submitted.load(Ordering::Acquire) == 0 {
            return Err(Error::invalid("read-back", "its list was not submitted yet"));
        }
        let buffer = &self.block.buffer;
        let mapped = buffer.shared.mapped();
        let mapped = mapped.ok_or_else(|| Error::internal("read-back memory is not mapped"))?;
        let last = || self.submitted.load(Ordering::Acquire);
        let range = self.range.clone();
        let read = || read_mapped(buffer, mapped, range, into);
        self.device.queue()?.copy_by_host(&buffer.shared, last, read)
    }

    /// As [`ReadBack::read_into`], into new memory.
    ///
    /// # Errors
    ///
    /// As [`ReadBack::read_into`].
    pub fn read(&self) -> Result<Vec<u8>> {
        let mut bytes = zeros(self.size())?;
        self.read_into(&mut bytes)?;
        Ok(bytes)
    }
}

impl fmt::Debug for ReadBack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadBack")
            .field("size", &self.size())
            .field("submitted", &self.submitted)
            .finish_non_exhaustive()
    }
}

/// `size` zeros in host memory. Large memory comes zeroed from the system, and nothing is written to it here.
pub(crate) fn zeros(size: u64) -> Result<Vec<u8>> {
    let out_of_memory = || Error::OutOfMemory { kind: MemoryKind::Host, call: "read_buffer" };
    if size == 0 {
        return Ok(Vec::new());
    }
    let size = usize::try_from(size).map_err(|_| out_of_memory())?;
    let layout = Layout::array::<u8>(size).map_err(|_| out_of_memory())?;
    // SAFETY: the size of the layout is not 0.
    let bytes = unsafe { alloc_zeroed(layout) };
    if bytes.is_null() {
        return Err(out_of_memory());
    }
    // SAFETY: the global allocator gave `size` bytes of alignment 1, which are initialized and owned by nothing else.
    Ok(unsafe { Vec::from_raw_parts(bytes, size, size) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_are_as_many_as_asked_for_or_an_error() {
        for size in [0, 1, 4097] {
            assert_eq!(zeros(size).unwrap(), vec![0; usize::try_from(size).unwrap()]);
        }
        for size in [u64::MAX, 1 << 63, 1 << 62] {
            let error = zeros(size).unwrap_err();
            assert!(matches!(error, Error::OutOfMemory { kind: MemoryKind::Host, .. }), "{error}");
        }
    }
}
