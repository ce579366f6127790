//! What is to fail, and what did.

use dml_vk::ash::vk;

/// What is to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The call of this number, where 1 is the first one after [`crate::Injector::arm`]. Nothing happens
    /// where the result is none of [`crate::EntryPoint::failures`].
    Call {
        /// The number.
        number: usize,
        /// What it returns.
        result: vk::Result,
    },
    /// Calls of one entry point after [`crate::Injector::arm`].
    Named {
        /// Its name.
        name: &'static str,
        /// The first call of it that fails, where 1 is the first one.
        first: usize,
        /// How many fail from there on.
        count: usize,
        /// What they return.
        result: vk::Result,
    },
    /// The host allocation of this number, where 1 is the first one after [`crate::Injector::arm`] that the
    /// calling thread makes inside of a call that can report a failure. Needs
    /// [`crate::Injector::with_host_allocations`].
    HostAllocation {
        /// The number.
        number: usize,
    },
}

/// A fault that took place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The entry point that failed, or in which the host allocation did.
    pub entry_point: &'static str,
    /// What it returned, or was to return.
    pub result: vk::Result,
    /// Whether a host allocation failed and the driver was called.
    pub host_allocation: bool,
}
