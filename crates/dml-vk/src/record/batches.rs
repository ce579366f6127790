//! The command buffers of a list, each a batch of its submission: none has more work than the device is given at one
//! time, but for one step that has.

use std::iter;

use ash::vk;
use dml_core::plan::Cost;

use crate::device::Device;
use crate::device::commands::CommandPool;
use crate::error::Result;
use crate::instance::raw::RawDevice;
use crate::record::barrier::Barrier;
use crate::record::writer::Writer;

/// Command buffers in the order of their submission, of which the last one is being recorded.
pub(crate) struct Batches {
    pool: CommandPool,
    flags: vk::CommandBufferUsageFlags,
    begun: Vec<vk::CommandBuffer>,
    /// The most work of a batch, in operations as [`Cost::as_operations`] counts them.
    bound: u64,
    /// The work of the last one so far.
    work: u64,
}

/// A command buffer, and the first of some steps that is recorded into it.
#[derive(Clone, Copy)]
pub(crate) struct BatchStart {
    pub(crate) step: usize,
    pub(crate) command_buffer: vk::CommandBuffer,
}

impl Batches {
    /// The first one, which can be recorded.
    pub(crate) fn new(device: &Device, flags: vk::CommandBufferUsageFlags) -> Result<Self> {
        let pool = device.shared.commands.take()?;
        let bound = device.shared.work_bound.batch;
        let mut batches = Self { pool, flags, begun: Vec::new(), bound, work: 0 };
        let first = batches.begin(&device.shared.raw)?;
        batches.begun.push(first);
        Ok(batches)
    }

    fn begin(&mut self, raw: &RawDevice) -> Result<vk::CommandBuffer> {
        let command_buffer = self.pool.command_buffer()?;
        let info = vk::CommandBufferBeginInfo::default().flags(self.flags);
        // SAFETY: the command buffer can be recorded and is used by nobody else.
        let begun = unsafe { raw.core().begin_command_buffer(command_buffer, &info) };
        raw.check("vkBeginCommandBuffer", begun)?;
        Ok(command_buffer)
    }

    /// The pool, which owns the command buffers.
    pub(crate) fn into_pool(self) -> CommandPool {
        self.pool
    }

    /// All of them, in their order.
    pub(crate) fn all(&self) -> &[vk::CommandBuffer] {
        &self.begun
    }

    /// The one that is being recorded.
    pub(crate) fn current(&self) -> vk::CommandBuffer {
        *self.begun.last().expect("the first one is begun when this is made")
    }

    /// Begins as many more as steps of so much `work` take, and says where each begins. Whoever records the
    /// steps begins each with [`Batches::barrier`].
    ///
    /// # Errors
    ///
    /// [`crate::Error::OutOfMemory`], [`crate::Error::DeviceLost`]; then nothing is to be recorded.
    pub(crate) fn make_room(
        &mut self,
        raw: &RawDevice,
        work: impl Iterator<Item = u64>,
    ) -> Result<Vec<BatchStart>> {
        let mut starts = Vec::new();
        let mut sum = self.work;
        for (step, work) in work.enumerate() {
            let with_it = sum.saturating_add(work);
            // A batch has one step at least.
            if with_it > self.bound && sum > 0 {
                starts.push(BatchStart { step, command_buffer: self.begin(raw)? });
                sum = work;
            } else {
                sum = with_it;
            }
        }
        self.work = sum;
        self.begun.extend(starts.iter().map(|start| start.command_buffer));
        Ok(starts)
    }

    /// The writer of a transfer of so many bytes, in the current batch or a new one.
    ///
    /// # Errors
    ///
    /// As [`Batches::make_room`].
    pub(crate) fn writer_of<'a>(&mut self, raw: &'a RawDevice, bytes: u64) -> Result<Writer<'a>> {
        let work = Cost { operations: 0, bytes }.as_operations();
        let is_new = !self.make_room(raw, iter::once(work))?.is_empty();
        let writer = Writer { raw, command_buffer: self.current() };
        if is_new {
            // SAFETY: the command buffer was just begun, and is borrowed exclusively.
            unsafe { writer.barrier(&Self::barrier()) };
        }
        Ok(writer)
    }

    /// The barrier that every batch but the first begins with. Commands of one queue are ordered by their
    /// submission, across batches: a barrier covers what earlier ones recorded.
    pub(crate) fn barrier() -> Barrier {
        Barrier::all()
    }

    /// Ends all of them, with a barrier after which later submissions, and the host, see everything that was written.
    ///
    /// # Errors
    ///
    /// [`crate::Error::OutOfMemory`], also for what a driver could not record.
    pub(crate) fn close(&self, raw: &RawDevice) -> Result<()> {
        let all = Barrier::all();
        let barrier = Barrier {
            dst_stages: all.dst_stages | vk::PipelineStageFlags::HOST,
            dst_access: all.dst_access | vk::AccessFlags::HOST_READ,
            ..all
        };
        let writer = Writer { raw, command_buffer: self.current() };
        // SAFETY: the command buffer is recording, and used by this thread alone.
        unsafe { writer.barrier(&barrier) };
        self.begun.iter().try_for_each(|command_buffer| {
            // SAFETY: the command buffer is recording, and used by nobody else.
            let ended = unsafe { raw.core().end_command_buffer(*command_buffer) };
            raw.check("vkEndCommandBuffer", ended)
        })
    }
}
