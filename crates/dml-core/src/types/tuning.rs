//! Which way of working suits a driver.

use crate::types::{Numerics, Strategy};

/// Preferences for one driver. They change how fast a result comes, and but for
/// [`Strategy::CooperativeMatrices`] and [`Numerics::Fast`], which nobody gets who does not ask for them, never
/// the result. They are fixed data: nothing is timed at run time, so plans are reproducible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tuning {
    /// Invocations in a work group, a power of two; lowered to what the device allows.
    pub local_size: u32,
    /// An output of at most so many bytes is written by [`Strategy::Inline`].
    pub inline_bytes: u32,
    /// What [`Strategy::SeedAndCopy`] copies has at most so many bytes, where one block does not
    /// have more.
    pub seed_bytes: u32,
    /// Runs of at least so many bytes are worth a region of their own in
    /// [`Strategy::RowCopies`]; a quarter of that where a kernel would write every element, and half of it
    /// where it would move every element.
    pub row_bytes: u32,
    /// Strategies that copy regions are worth at most so many; more take a kernel. Drivers of GPUs start each
    /// region by itself, in microseconds in which a kernel moves megabytes.
    pub most_regions: u32,
    /// Whether invocations of a work group are worth sharing what they read: they are on GPUs, while what
    /// CPU drivers pay for is waiting for each other.
    pub shared_tiles: bool,
    /// Whether kernels use optional types of the hardware, such as integers of 64 bits, where the device has
    /// them. They change no bit.
    pub native_types: bool,
    /// Used wherever it can serve the tensors; where it cannot, or where this is `None`, the tensors
    /// and the other preferences decide.
    pub strategy: Option<Strategy>,
    /// What may be done to results for speed: the choice of whoever creates the device, whatever its driver.
    pub numerics: Numerics,
    /// Dispatches of more work ([`Cost::as_operations`](crate::plan::Cost::as_operations)) are divided into several,
    /// by their work groups: [`WorkBound::dispatch`](crate::plan::WorkBound::dispatch) of the device.
    pub dispatch_bound: u64,
}

impl Tuning {
    /// Preferences that are sound on every driver, measured on lavapipe and SwiftShader: beyond
    /// these sizes one of both takes longer than with the next strategy. No driver has preferences
    /// of its own, as both agree but for the machine's noise.
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

    /// The same with another work group size. It is rounded down to a power of two, and at least 2:
    /// the work groups of the largest tensor then number at most 2^31, which leaves kernels room to
    /// count in 32 bits.
    pub const fn with_local_size(mut self, local_size: u32) -> Self {
        self.local_size = if local_size < 2 { 2 } else { 1 << local_size.ilog2() };
        self
    }

    /// The same with other sizes, in bytes: of outputs that are written inline, of seeds, and of the
    /// shortest run that is copied by itself.
    pub const fn with_sizes(mut self, inline: u32, seed: u32, row: u32) -> Self {
        (self.inline_bytes, self.seed_bytes, self.row_bytes) = (inline, seed, row);
        self
    }

    /// These preferences, with at most so many regions in a copy.
    pub const fn with_most_regions(mut self, most: u32) -> Self {
        self.most_regions = most;
        self
    }

    /// The same where work groups share what they read.
    pub const fn with_shared_tiles(mut self) -> Self {
        self.shared_tiles = true;
        self
    }

    /// These preferences, with kernels that emulate every optional type of the hardware.
    pub const fn without_native_types(mut self) -> Self {
        self.native_types = false;
        self
    }

    /// The same with one strategy wherever it can serve the tensors.
    pub const fn with_strategy(mut self, strategy: Strategy) -> Self {
        self.strategy = Some(strategy);
        self
    }

    /// These preferences, with other numerics.
    pub const fn with_numerics(mut self, numerics: Numerics) -> Self {
        self.numerics = numerics;
        self
    }

    /// These preferences, with at most so much work in a dispatch.
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
