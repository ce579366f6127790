//! What a plan is made for.

use dml_core::kernel::KernelVariant;
use dml_core::plan::KernelKey;
use dml_core::{Capabilities, Traits};

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
    pub traits: Traits,
    /// What its buffers may be used for.
    pub transfer: TransferUse,
}

impl Target<'_> {
    /// Invocations in a work group: the driver's preference as far as the device allows it.
    pub fn local_size(&self) -> u32 {
        let limits = &self.capabilities.limits;
        let most =
            limits.max_compute_work_group_invocations.min(limits.max_compute_work_group_size_x);
        self.traits.with_local_size(self.traits.local_size.min(most)).local_size
    }

    /// The largest byte range that one descriptor shows whatever multiple of 16 a tensor starts at:
    /// the descriptor starts at the aligned address below.
    pub fn max_window(&self) -> u64 {
        let limits = &self.capabilities.limits;
        limits.max_storage_buffer_range.saturating_sub(limits.min_storage_buffer_offset_alignment)
    }

    /// The key of a kernel whose only specialization constant is its local size.
    pub fn kernel_key(&self, variant: &'static KernelVariant) -> KernelKey {
        KernelKey { variant, specialization: vec![self.local_size()] }
    }
}
