//! Bytes on their way to buffers that the host cannot map, in batches that nobody waits for.
//!
//! An upload copies its bytes to staging memory and returns. The device's copies are recorded and submitted later, as
//! one batch: before the next submission of any thread, or when there are many bytes. All submissions of a device
//! execute in order, so later ones see the bytes. Staging memory is used again once its batch has completed.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ash::vk;
use dml_core::plan::CopyRegion;

use crate::device::Device;
use crate::device::queue::{Queue, SubmittedResources};
use crate::device::semaphores::SubmitSemaphores;
use crate::device::staging::{Blocks, StagingBlock};
use crate::error::{Error, Result};
use crate::memory::buffer::Buffer;
use crate::memory::mapped::write_mapped;
use crate::record::barrier::Barrier;
use crate::record::batches::Batches;

/// A batch of this many bytes is submitted at once. No piece of an upload is larger.
const BATCH: usize = 16 << 20;
/// The most bytes of batches that have not completed. An upload that would exceed it waits for the oldest batch.
const MOST_UNDER_WAY: u64 = 64 << 20;

/// The uploads of a device.
#[derive(Default)]
pub(crate) struct UploadBatches {
    state: Mutex<State>,
    /// Whether there are copies that were not submitted.
    is_pending: AtomicBool,
}

// Nothing in it owns the device, which owns it.
#[derive(Default)]
struct State {
    pending: Batch,
    /// The oldest batch first.
    under_way: VecDeque<SubmittedBatch>,
}

/// The copies of one submission.
#[derive(Default)]
struct Batch {
    copies: Vec<Copy>,
    blocks: Blocks,
    bytes: u64,
}

/// A copy from staging memory to a buffer.
struct Copy {
    block: Arc<StagingBlock>,
    at: u64,
    buffer: Buffer,
    range: Range<u64>,
}

struct SubmittedBatch {
    /// The value that the submission signals.
    value: u64,
    batch: Batch,
    _commands: Batches,
}

impl SubmittedResources for Batch {
    fn is_copied_by_host(&self) -> bool {
        self.copies.iter().any(|copy| copy.buffer.shared.is_copied_by_host())
    }

    fn note_submitted(&self, value: u64) {
        self.copies.iter().for_each(|copy| copy.buffer.shared.note_submitted(value));
    }
}

impl UploadBatches {
    /// Copies `bytes` to staging memory, and on to `buffer` with the next batch. The range lies inside the buffer,
    /// which has TRANSFER_DST usage.
    pub(crate) fn add(
        &self,
        device: &Device,
        (buffer, offset): (&Buffer, u64),
        bytes: &[u8],
    ) -> Result<()> {
        let queue = device.queue()?;
        for (piece, start) in bytes.chunks(BATCH).zip((offset..).step_by(BATCH)) {
            let size = piece.len() as u64;
            self.wait_for_room(queue, size)?;
            let (block, at) = self.reserve(device, size)?;
            let mapped = block.buffer.shared.mapped();
            let mapped = mapped.ok_or_else(|| Error::internal("upload memory is not mapped"))?;
            // No lock is held meanwhile that a submission needs.
            write_mapped(&block.buffer, mapped, at, piece)?;
            let copy = Copy { block, at, buffer: buffer.clone(), range: start..start + size };
            let mut state = self.lock();
            state.pending.bytes += size;
            state.pending.copies.push(copy);
            self.is_pending.store(true, Ordering::Release);
            if state.pending.bytes >= BATCH as u64 {
                self.submit_pending(&mut state, device)?;
            }
        }
        Ok(())
    }

    /// Submits all copies so far. After an error, they are still to be submitted.
    pub(crate) fn flush(&self, device: &Device) -> Result<()> {
        if !self.is_pending.load(Ordering::Acquire) {
            return Ok(());
        }
        self.submit_pending(&mut self.lock(), device)
    }

    /// Frees the staging memory of batches that have completed.
    pub(crate) fn retire(&self, queue: &Queue) -> Result<()> {
        let mut state = self.lock();
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

    /// Submits all copies so far, waits for them, and frees their staging memory.
    pub(crate) fn finish(&self, device: &Device) -> Result<()> {
        self.flush(device)?;
        let queue = device.queue()?;
        let last = self.lock().under_way.back().map(|it| it.value);
        queue.wait(last.unwrap_or(0))?;
        self.retire(queue)
    }

    /// Ends when the device is destroyed: waits for batches under way, and drops copies that were not submitted, since
    /// nobody can use their buffers.
    pub(crate) fn end(&mut self, queue: &Queue) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        for submitted in state.under_way.drain(..) {
            if let Err(error) = queue.wait_patiently(submitted.value) {
                log::error!("waiting for uploads failed, their objects are leaked: {error}");
                std::mem::forget(submitted);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the oldest batches, if too many bytes are under way for `size` more.
    fn wait_for_room(&self, queue: &Queue, size: u64) -> Result<()> {
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
    fn reserve(&self, device: &Device, size: u64) -> Result<(Arc<StagingBlock>, u64)> {
        if let Some(place) = self.lock().pending.blocks.place(size) {
            return Ok(place);
        }
        // Allocating takes long, so others go on meanwhile.
        let block = device.shared.uploads.take(device, size)?;
        self.lock().pending.blocks.add(block, size)
    }

    fn submit_pending(&self, state: &mut State, device: &Device) -> Result<()> {
        if state.pending.copies.is_empty() {
            return Ok(());
        }
        let commands = record(device, &state.pending.copies)?;
        let (queue, semaphores) = (device.queue()?, SubmitSemaphores::default());
        // SAFETY: the command buffers were just recorded for this device. They and all that they use are kept in
        // `under_way` until the value is signalled; there are no semaphores.
        let value = unsafe { queue.submit(commands.all(), &semaphores, &state.pending) }?;
        let batch = std::mem::take(&mut state.pending);
        state.under_way.push_back(SubmittedBatch { value, batch, _commands: commands });
        self.is_pending.store(false, Ordering::Release);
        Ok(())
    }
}

impl State {
    fn has_room(&self, size: u64) -> bool {
        let under_way: u64 = self.under_way.iter().map(|it| it.batch.bytes).sum();
        under_way + self.pending.bytes + size <= MOST_UNDER_WAY
    }
}

/// Records the copies. Those that write the same bytes do so in their order.
fn record(device: &Device, copies: &[Copy]) -> Result<Batches> {
    let raw = &device.shared.raw;
    let mut batches = Batches::new(device, vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT)?;
    let mut written: HashMap<vk::Buffer, Vec<&Range<u64>>> = HashMap::new();
    for Copy { block, at, buffer, range } in copies {
        let size = range.end - range.start;
        let writer = batches.writer_of(raw, size.saturating_mul(2))?;
        let meets = |it: &&Range<u64>| it.start < range.end && range.start < it.end;
        if written.get(&buffer.raw()).is_some_and(|it| it.iter().any(meets)) {
            // SAFETY: the command buffer is recording, and used by this thread alone.
            unsafe { writer.barrier(&Barrier::all()) };
            written.clear();
        }
        written.entry(buffer.raw()).or_default().push(range);
        let region = CopyRegion::once(*at, range.start, size);
        // SAFETY: as above; the ranges lie inside the buffers, which are kept until the copy has completed. No
        // other copy since the last barrier writes these bytes.
        unsafe { writer.copy(block.buffer.raw(), buffer.raw(), &[region]) };
    }
    batches.close(raw)?;
    Ok(batches)
}
