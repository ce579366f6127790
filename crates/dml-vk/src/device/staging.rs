//! Staging memory, for transfers between the host and buffers that it cannot map.
//!
//! Blocks are reused, so that a transfer of a usual size allocates nothing.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::device::Device;
use crate::error::{Error, Result};
use crate::memory::buffer::{Buffer, BufferDesc, BufferUsage};
use crate::memory::types::MemoryLocation;

/// The least size of a block.
const LEAST_BLOCK: u64 = 1 << 20;
/// The largest size of all unused blocks that are kept.
const MOST_KEPT: u64 = 64 << 20;

/// The alignment of transfers in a block: no two share an atom of non-coherent memory.
const ALIGNMENT: u64 = 256;

/// The unused blocks of one direction.
pub(crate) struct Staging {
    free: Mutex<Vec<Buffer>>,
    location: MemoryLocation,
    usage: BufferUsage,
}

impl Staging {
    /// Staging memory that the host writes.
    pub(crate) fn upload() -> Self {
        Self::new(MemoryLocation::Upload, BufferUsage::TRANSFER_SRC)
    }

    /// Staging memory that the host reads.
    pub(crate) fn read_back() -> Self {
        Self::new(MemoryLocation::Readback, BufferUsage::TRANSFER_DST)
    }

    fn new(location: MemoryLocation, usage: BufferUsage) -> Self {
        Self { free: Mutex::default(), location, usage }
    }

    /// Frees the unused blocks.
    fn clear(&self) {
        let free = std::mem::take(&mut *self.free.lock().unwrap_or_else(PoisonError::into_inner));
        drop(free);
    }

    /// A block of at least `size` bytes.
    pub(crate) fn take(self: &Arc<Self>, device: &Device, size: u64) -> Result<StagingBlock> {
        let home = Arc::clone(self);
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let fitting = free.iter().enumerate().filter(|(_, it)| it.size() >= size);
        if let Some((at, _)) = fitting.min_by_key(|(_, it)| it.size()) {
            return Ok(StagingBlock { buffer: free.swap_remove(at), home });
        }
        drop(free);
        let size = if size <= MOST_KEPT { size.next_power_of_two().max(LEAST_BLOCK) } else { size };
        let (usage, location) = (self.usage, self.location);
        let desc = BufferDesc { size, usage, location, name: "dml staging" };
        Ok(StagingBlock { buffer: device.create_buffer(&desc)?, home })
    }
}

impl Device {
    /// Frees staging memory that the device keeps for later transfers. For programs that run out of memory.
    pub fn release_unused(&self) {
        if self.shared.raw.is_forked() {
            return;
        }
        if self.shared.has_queue()
            && let Err(error) = self.finish_uploads()
        {
            log::debug!("uploads could not be finished: {error}");
        }
        self.shared.uploads.clear();
        self.shared.read_backs.clear();
    }

    /// Frees what the device keeps for later use and nothing uses now: pipelines of operators that exist no more, and
    /// staging memory. For programs that live long and have gone through many operators; later operators make their
    /// pipelines again.
    pub fn trim(&self) {
        if self.shared.raw.is_forked() {
            return;
        }
        self.shared.pipelines.trim();
        self.release_unused();
    }
}

/// A block in use. It is dropped when the device's work with it has completed.
pub(crate) struct StagingBlock {
    pub(crate) buffer: Buffer,
    home: Arc<Staging>,
}

impl Drop for StagingBlock {
    fn drop(&mut self) {
        if self.buffer.shared.allocator.raw().is_forked() {
            return;
        }
        let mut free = self.home.free.lock().unwrap_or_else(PoisonError::into_inner);
        let kept: u64 = free.iter().map(Buffer::size).sum();
        if kept.saturating_add(self.buffer.size()) <= MOST_KEPT {
            free.push(self.buffer.clone());
        }
    }
}

/// The blocks of a list: the bytes that it writes, and room for those that it reads.
#[derive(Default)]
pub(crate) struct StagedBytes {
    pub(crate) uploads: Blocks,
    pub(crate) read_backs: Blocks,
    /// The value that the list's last submission signals, for threads that wait to read; 0 before.
    pub(crate) submitted: Arc<AtomicU64>,
}

#[derive(Default)]
pub(crate) struct Blocks {
    blocks: Vec<Arc<StagingBlock>>,
    /// The used bytes of the last block.
    used: u64,
}

impl Blocks {
    /// Reserves `size` bytes, in a new block from `take` if the last one is too small.
    pub(crate) fn reserve(
        &mut self,
        size: u64,
        take: impl FnOnce() -> Result<StagingBlock>,
    ) -> Result<(Arc<StagingBlock>, u64)> {
        match self.place(size) {
            Some(place) => Ok(place),
            None => self.add(take()?, size),
        }
    }

    /// Reserves `size` bytes in the last block; `None` if there is no room.
    pub(crate) fn place(&mut self, size: u64) -> Option<(Arc<StagingBlock>, u64)> {
        let block = self.blocks.last()?;
        let at = self.used.next_multiple_of(ALIGNMENT);
        let end = at.checked_add(size).filter(|end| *end <= block.buffer.size())?;
        self.used = end;
        Some((Arc::clone(block), at))
    }

    /// Adds a block, and reserves its first `size` bytes.
    pub(crate) fn add(
        &mut self,
        block: StagingBlock,
        size: u64,
    ) -> Result<(Arc<StagingBlock>, u64)> {
        self.blocks.push(Arc::new(block));
        self.used = 0;
        self.place(size).ok_or_else(|| Error::internal("a staging block is too small"))
    }
}

impl StagedBytes {
    /// Records the submission's value for threads that wait to read. No other submission happens meanwhile.
    pub(crate) fn note_submitted(&self, value: u64) {
        self.submitted.store(value, Ordering::Release);
    }
}
