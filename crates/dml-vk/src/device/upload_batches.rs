//! Bytes on their way to buffers that the host cannot map, in batches that nobody waits for.
//!
//! An upload copies its bytes to staging memory and returns. The device's copies are recorded and submitted later, as
//! one batch (`record/uploads.rs`): before the next submission of any thread, or when there are many bytes. All
//! submissions of a device execute in order, so later ones see the bytes. Staging memory is used again once its batch
//! has completed.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::device::Device;
use crate::device::commands::CommandPool;
use crate::device::queue::{Queue, SubmittedResources};
use crate::device::staging::{Blocks, StagingBlock};
use crate::error::Result;
use crate::memory::buffer::Buffer;

/// The most bytes of batches that have not completed. An upload that would exceed it waits for the oldest batch.
const MOST_UNDER_WAY: u64 = 64 << 20;

/// The uploads of a device.
#[derive(Default)]
pub(crate) struct UploadBatches {
    state: Mutex<UploadState>,
    /// Whether there are copies that were not submitted.
    is_pending: AtomicBool,
}

// Nothing in it owns the device, which owns it.
#[derive(Default)]
pub(crate) struct UploadState {
    pub(crate) pending: UploadBatch,
    /// The oldest batch first.
    under_way: VecDeque<SubmittedBatch>,
}

/// The copies of one submission.
#[derive(Default)]
pub(crate) struct UploadBatch {
    pub(crate) copies: Vec<UploadCopy>,
    blocks: Blocks,
    pub(crate) bytes: u64,
}

/// A copy from staging memory to a buffer.
pub(crate) struct UploadCopy {
    pub(crate) block: Arc<StagingBlock>,
    pub(crate) at: u64,
    pub(crate) buffer: Buffer,
    pub(crate) range: Range<u64>,
}

struct SubmittedBatch {
    /// The value that the submission signals.
    value: u64,
    batch: UploadBatch,
    _commands: CommandPool,
}

impl SubmittedResources for UploadBatch {
    fn is_copied_by_host(&self) -> bool {
        self.copies.iter().any(|copy| copy.buffer.shared.is_copied_by_host())
    }

    fn dispatch_count(&self) -> u64 {
        0
    }

    fn note_submitted(&self, value: u64) {
        self.copies.iter().for_each(|copy| copy.buffer.shared.note_submitted(value));
    }
}

impl UploadBatches {
    /// Whether there are copies that were not submitted.
    pub(crate) fn is_pending(&self) -> bool {
        self.is_pending.load(Ordering::Acquire)
    }

    /// Adds a copy to the pending batch.
    pub(crate) fn push(&self, copy: UploadCopy) -> MutexGuard<'_, UploadState> {
        let mut state = self.lock();
        state.pending.bytes += copy.range.end - copy.range.start;
        state.pending.copies.push(copy);
        self.is_pending.store(true, Ordering::Release);
        state
    }

    /// Records that the pending batch was submitted, with commands of this pool and a signal of `value`.
    pub(crate) fn note_submitted(
        &self,
        state: &mut UploadState,
        (value, commands): (u64, CommandPool),
    ) {
        let batch = std::mem::take(&mut state.pending);
        state.under_way.push_back(SubmittedBatch { value, batch, _commands: commands });
        self.is_pending.store(false, Ordering::Release);
    }

    /// The value that the last batch signals; 0 if none is under way.
    pub(crate) fn last(&self) -> u64 {
        self.lock().under_way.back().map_or(0, |back| back.value)
    }

    /// Frees the memory of batches that have completed, unless another thread has the lock.
    pub(crate) fn retire_if_unlocked(&self, queue: &Queue) -> Result<()> {
        self.state.try_lock().map_or(Ok(()), |state| Self::retire_locked(state, queue))
    }

    /// Frees the staging memory of batches that have completed, and the buffers that nobody else has.
    pub(crate) fn retire(&self, queue: &Queue) -> Result<()> {
        Self::retire_locked(self.lock(), queue)
    }

    fn retire_locked(mut state: MutexGuard<'_, UploadState>, queue: &Queue) -> Result<()> {
        if state.under_way.is_empty() {
            return Ok(());
        }
        let completed = queue.completed()?;
        let count = state.under_way.iter().take_while(|it| it.value <= completed).count();
        let finished: Vec<_> = state.under_way.drain(..count).collect();
        drop(state);
        drop(finished);
        Ok(())
    }

    /// Ends when the device is destroyed: waits for batches under way, and drops copies that were not submitted, since
    /// nobody can use their buffers.
    pub(crate) fn end(&mut self, queue: &Queue) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        for submitted in state.under_way.drain(..) {
            queue.drop_after(submitted.value, submitted);
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, UploadState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the oldest batches, if too many bytes are under way for `size` more.
    pub(crate) fn wait_for_room(&self, queue: &Queue, size: u64) -> Result<()> {
        loop {
            self.retire(queue)?;
            let state = self.lock();
            let Some(oldest) = state.under_way.front().filter(|_| !state.has_room(size)) else {
                return Ok(());
            };
            let value = oldest.value;
            drop(state);
            queue.wait(value)?;
        }
    }

    /// A place in staging memory for `size` bytes of the pending batch.
    pub(crate) fn reserve(&self, device: &Device, size: u64) -> Result<(Arc<StagingBlock>, u64)> {
        if let Some(place) = self.lock().pending.blocks.place(size) {
            return Ok(place);
        }
        // Allocating takes long, so others go on meanwhile.
        let block = device.shared.uploads.take(device, size)?;
        self.lock().pending.blocks.add(block, size)
    }
}

impl UploadState {
    fn has_room(&self, size: u64) -> bool {
        let under_way: u64 = self.under_way.iter().map(|it| it.batch.bytes).sum();
        under_way + self.pending.bytes + size <= MOST_UNDER_WAY
    }
}
