//! Writes the commands that need no operator into a command buffer.

use ash::vk;
use dml_core::plan::CopyRegion;

use crate::instance::raw::RawDevice;
use crate::record::barrier::Barrier;
use crate::record::pieces::{buffer_copies, pieces};

/// A command buffer in the recording state. Every function has the safety contract of [`crate::record_plan`].
pub(crate) struct Writer<'a> {
    pub(crate) raw: &'a RawDevice,
    pub(crate) command_buffer: vk::CommandBuffer,
}

impl Writer<'_> {
    /// # Safety
    ///
    /// As [`crate::record_plan`]; the range lies inside `buffer`, both ends are multiples of 4.
    pub(crate) unsafe fn fill(&self, buffer: vk::Buffer, offset: u64, size: u64, pattern: u32) {
        let core = self.raw.core();
        for (offset, size) in pieces(offset, size) {
            // SAFETY: the caller's promise, kept by every piece.
            unsafe { core.cmd_fill_buffer(self.command_buffer, buffer, offset, size, pattern) };
        }
    }

    /// # Safety
    ///
    /// As [`crate::record_plan`]; the regions, counted from the start of the buffers, lie inside of them,
    /// and what is written overlaps nothing else.
    pub(crate) unsafe fn copy(
        &self,
        source: vk::Buffer,
        destination: vk::Buffer,
        regions: &[CopyRegion],
    ) {
        let core = self.raw.core();
        buffer_copies(regions, |regions| {
            // SAFETY: the caller's promise.
            unsafe { core.cmd_copy_buffer(self.command_buffer, source, destination, regions) };
        });
    }

    /// # Safety
    ///
    /// As [`crate::record_plan`].
    pub(crate) unsafe fn barrier(&self, barrier: &Barrier) {
        let memory = vk::MemoryBarrier::default()
            .src_access_mask(barrier.src_access)
            .dst_access_mask(barrier.dst_access);
        // Waiting for reads alone makes no write visible and needs no memory barrier.
        let memory = [memory];
        let only_order = barrier.src_access.is_empty() && barrier.dst_access.is_empty();
        let memory: &[_] = if only_order { &[] } else { &memory };
        // SAFETY: the caller's promise; the access masks fit the stages.
        unsafe {
            self.raw.core().cmd_pipeline_barrier(
                self.command_buffer,
                barrier.src_stages,
                barrier.dst_stages,
                vk::DependencyFlags::empty(),
                memory,
                &[],
                &[],
            );
        }
    }
}
