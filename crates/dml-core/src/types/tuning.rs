//! Performance preferences for a driver.

use crate::types::{Numerics, Strategy};

/// Preferences for one driver. They change the speed but not the results, except
/// [`Strategy::CooperativeMatrices`] and [`Numerics::Fast`], which must be requested. They are fixed data:
/// nothing is timed at run time, so plans are reproducible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tuning {
    /// Invocations in a work group, a power of two; lowered to the device's limits.
    pub local_size: u32,
    /// The largest output, in bytes, that [`Strategy::Inline`] writes.
    pub inline_bytes: u32,
    /// The largest seed of [`Strategy::SeedAndCopy`], in bytes, unless a single block is larger: the bytes that
    /// are made on the host and then copied.
    pub seed_bytes: u32,
    /// The shortest run, in bytes, that [`Strategy::RowCopies`] copies as a region of its own: a quarter of this
    /// if the alternative is a kernel that writes every element, and half if it is a kernel that moves every
    /// element.
    pub row_bytes: u32,
    /// The most regions that a strategy copies; a plan that needs more uses a kernel. Drivers of GPUs start each
    /// region separately, which takes microseconds, in which a kernel moves megabytes.
    pub most_regions: u32,
    /// Whether kernels use tiles in shared memory. They are faster on GPUs; on CPU drivers the barriers cost more
    /// than the reads that are saved.
    pub shared_tiles: bool,
    /// Whether kernels use the device's optional types, such as 64-bit integers, where the device has them. The
    /// results are the same bits.
    pub native_types: bool,
    /// The strategy to use for all tensors that it supports. For other tensors, or if this is `None`, the tensors
    /// and the other preferences decide.
    pub strategy: Option<Strategy>,
    /// Whether results may differ between devices for speed. Chosen by the creator of the device, for any driver.
    pub numerics: Numerics,
    /// Dispatches of more work ([`Cost::as_operations`](crate::plan::Cost::as_operations)) are divided into several,
    /// by their work groups: [`WorkBound::dispatch`](crate::plan::WorkBound::dispatch) of the device.
    pub dispatch_bound: u64,
}

impl Tuning {
    /// Preferences for every driver, measured on lavapipe and SwiftShader: beyond these sizes at least one of
    /// the two is slower than with the next strategy. No driver has its own preferences, because both agree up
    /// to measurement noise.
    pub const fn new() -> Self {
        Self {
            local_size: 64,
            inline_bytes: 16 << 10,
            seed_bytes: 64 << 10,
            row_bytes: 1024,
            most_regions: 1 << 20,
            shared_tiles: false,
            native_types: true,
            strategy: None,
            numerics: Numerics::Exact,
            dispatch_bound: u64::MAX,
        }
    }

    /// The preferences with another work group size. It is rounded down to a power of two, and at least 2:
    /// the largest tensor then has at most 2^31 work groups, so that kernels can count them in 32 bits.
    pub const fn with_local_size(mut self, local_size: u32) -> Self {
        self.local_size = if local_size < 2 { 2 } else { 1 << local_size.ilog2() };
        self
    }

    /// The preferences with other sizes in bytes: `inline_bytes`, `seed_bytes` and `row_bytes`.
    pub const fn with_sizes(mut self, inline: u32, seed: u32, row: u32) -> Self {
        (self.inline_bytes, self.seed_bytes, self.row_bytes) = (inline, seed, row);
        self
    }

    /// The preferences with at most `most` regions in a copy.
    pub const fn with_most_regions(mut self, most: u32) -> Self {
        self.most_regions = most;
        self
    }

    /// The preferences with tiles in shared memory.
    pub const fn with_shared_tiles(mut self) -> Self {
        self.shared_tiles = true;
        self
    }

    /// The preferences with kernels that emulate every optional type of the hardware.
    pub const fn without_native_types(mut self) -> Self {
        self.native_types = false;
        self
    }

    /// The preferences with one strategy for all tensors that it supports.
    pub const fn with_strategy(mut self, strategy: Strategy) -> Self {
        self.strategy = Some(strategy);
        self
    }

    /// The preferences with other numerics.
    pub const fn with_numerics(mut self, numerics: Numerics) -> Self {
        self.numerics = numerics;
        self
    }

    /// The preferences with at most so much work in a dispatch.
    pub const fn with_dispatch_bound(mut self, bound: u64) -> Self {
        self.dispatch_bound = bound;
        self
    }
}

impl Default for Tuning {
    fn default() -> Self {
        Self::new()
    }
}
