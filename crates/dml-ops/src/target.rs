//! What a plan is made for.

use std::ops::Range;

use dml_core::kernel::KernelModule;
use dml_core::plan::KernelKey;
use dml_core::{Capabilities, Tuning};

/// Indices of one invocation, of the kernels that take runs. On both CPU drivers an element of 16
/// takes a third of the time of an element by itself.
const RUN_LENGTH: u32 = 16;

/// Whether a plan may use fills and copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TransferUse {
    /// Buffers have transfer usage beside storage usage.
    Allowed,
    /// Buffers have storage usage alone: dispatches only.
    StorageOnly,
}

/// The device and the buffers that a plan is made for.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// What the device can do.
    pub capabilities: &'a Capabilities,
    /// What suits its driver.
    pub tuning: Tuning,
    /// What its buffers may be used for.
    pub transfer: TransferUse,
}

impl Target<'_> {
    /// Invocations in a work group: the driver's preference as far as the device allows it.
    pub fn local_size(&self) -> u32 {
        let limits = &self.capabilities.limits;
        let [most_x, ..] = limits.max_compute_work_group_size;
        let most = limits.max_compute_work_group_invocations.min(most_x);
        self.tuning.with_local_size(self.tuning.local_size.min(most)).local_size
    }

    /// The largest byte range that one descriptor shows whatever multiple of 16 a tensor starts at:
    /// the descriptor starts at the aligned address below.
    pub fn max_window(&self) -> u64 {
        let limits = &self.capabilities.limits;
        limits.max_storage_buffer_range.saturating_sub(limits.min_storage_buffer_offset_alignment)
    }

    /// The first `bytes` of a buffer, a multiple of 4, in ranges that one descriptor shows, each with
    /// the number of its words.
    pub(crate) fn word_pieces(
        &self,
        bytes: u64,
    ) -> impl Iterator<Item = (Range<u64>, u32)> + use<> {
        let most = u32::try_from(self.max_window() / 4).unwrap_or(u32::MAX).max(1);
        let piece = u64::from(most) * 4;
        (0..bytes.div_ceil(piece)).map(move |index| {
            let range = index * piece..bytes.min((index + 1) * piece);
            let count = u32::try_from((range.end - range.start) / 4).unwrap_or(most);
            (range, count)
        })
    }

    /// The key of a kernel whose specialization constants are its local size and, where it has one,
    /// its run length.
    pub fn kernel_key(&self, variant: &'static KernelModule) -> KernelKey {
        let mut specialization = vec![self.local_size(), RUN_LENGTH];
        specialization.truncate(variant.specialization_constants.len());
        KernelKey { variant, specialization }
    }

    /// Indices of a work group of `variant`: those of each invocation, times how many these are.
    pub(crate) fn group_length(&self, variant: &'static KernelModule) -> u32 {
        self.kernel_key(variant).specialization.iter().product()
    }
}
