//! Which way of working suits a driver.

/// Preferences for one driver. They change how fast a result comes, never the result, and they are
/// fixed data: nothing is timed at run time, so plans are reproducible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Traits {
    /// Invocations in a work group, a power of two; lowered to what the device allows.
    pub local_size: u32,
}

impl Traits {
    /// Preferences that are sound on every driver.
    pub const fn new() -> Self {
        Self { local_size: 64 }
    }

    /// The same with another work group size. It is rounded down to a power of two, and at least 2:
    /// the work groups of the largest tensor then number at most 2^31, which leaves kernels room to
    /// count in 32 bits.
    pub const fn with_local_size(mut self, local_size: u32) -> Self {
        self.local_size = if local_size < 2 { 2 } else { 1 << local_size.ilog2() };
        self
    }
}

impl Default for Traits {
    fn default() -> Self {
        Self::new()
    }
}
