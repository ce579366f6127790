//! Uploads as submissions: collects copies to buffers that the host cannot map, and records a batch of them.

use std::collections::HashMap;
use std::ops::Range;

use ash::vk;
use dml_core::plan::CopyRegion;

use crate::device::Device;
use crate::device::semaphores::SubmitSemaphores;
use crate::device::upload_batches::{UploadCopy, UploadState};
use crate::error::{Error, Result};
use crate::memory::buffer::Buffer;
use crate::memory::mapped::write_mapped;
use crate::record::barrier::Barrier;
use crate::record::batches::Batches;

/// A batch of this many bytes is submitted at once. No piece of an upload is larger.
const BATCH: usize = 16 << 20;

/// A batch of this many copies is submitted at once: each is compared with those before it.
const MOST_COPIES: usize = 1024;

impl Device {
    /// Copies `bytes` to staging memory, and on to `buffer` with the next batch. The range lies inside the buffer,
    /// which has TRANSFER_DST usage.
    pub(crate) fn add_upload(&self, (buffer, offset): (&Buffer, u64), bytes: &[u8]) -> Result<()> {
        let (queue, batches) = (self.queue()?, &self.shared.upload_batches);
        for (piece, start) in bytes.chunks(BATCH).zip((offset..).step_by(BATCH)) {
            let size = piece.len() as u64;
            batches.wait_for_room(queue, size)?;
            let (block, at) = batches.reserve(self, size)?;
            let mapped = block.buffer.shared.mapped();
            let mapped = mapped.ok_or_else(|| Error::internal("upload memory is not mapped"))?;
            // No lock is held meanwhile that a submission needs.
            write_mapped(&block.buffer, mapped, at, piece)?;
            let range = start..start + size;
            let mut state = batches.push(UploadCopy { block, at, buffer: buffer.clone(), range });
            let pending = &state.pending;
            if pending.bytes >= BATCH as u64 || pending.copies.len() >= MOST_COPIES {
                self.submit_uploads(&mut state)?;
            }
        }
        Ok(())
    }

    /// Submits all uploads so far. After an error, they are still to be submitted.
    pub(crate) fn flush_uploads(&self) -> Result<()> {
        self.shared.raw.ensure_alive()?;
        let batches = &self.shared.upload_batches;
        if batches.is_pending() {
            self.submit_uploads(&mut batches.lock())?;
        }
        Ok(())
    }

    /// Submits all uploads so far, waits for them, and frees their staging memory.
    pub(crate) fn finish_uploads(&self) -> Result<()> {
        self.flush_uploads()?;
        let (queue, batches) = (self.queue()?, &self.shared.upload_batches);
        queue.wait(batches.last())?;
        batches.retire(queue)
    }

    fn submit_uploads(&self, state: &mut UploadState) -> Result<()> {
        if state.pending.copies.is_empty() {
            return Ok(());
        }
        let commands = record(self, &state.pending.copies)?;
        let (queue, semaphores) = (self.queue()?, SubmitSemaphores::default());
        // SAFETY: the command buffers were just recorded for this device. They and all that they use are kept with
        // the batch until the value is signalled; there are no semaphores.
        let value = unsafe { queue.submit(commands.all(), &semaphores, &state.pending) }?;
        self.shared.upload_batches.note_submitted(state, (value, commands.into_pool()));
        Ok(())
    }
}

/// Records the copies. Those that write the same bytes do so in their order.
fn record(device: &Device, copies: &[UploadCopy]) -> Result<Batches> {
    let raw = &device.shared.raw;
    let mut batches = Batches::new(device, vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT)?;
    let mut written: HashMap<vk::Buffer, Vec<&Range<u64>>> = HashMap::new();
    for UploadCopy { block, at, buffer, range } in copies {
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
