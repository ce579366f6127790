//! Faults to inject, and faults that took place.

use dml_vk::ash::vk;

/// A fault to inject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The call with this number, where 1 is the first one after [`crate::Injector::arm`]. Nothing fails if
    /// the result is not in [`crate::EntryPoint::failures`].
    Call {
        /// The number.
        number: usize,
        /// The result that it returns.
        result: vk::Result,
    },
    /// Calls of one entry point after [`crate::Injector::arm`].
    Named {
        /// Its name.
        name: &'static str,
        /// The first call of the entry point that fails, counted from 1.
        first: usize,
        /// The number of calls that fail from there on.
        count: usize,
        /// The result that they return.
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
    /// The entry point that failed, or in which the host allocation failed.
    pub entry_point: &'static str,
    /// The result that it returned, or would have returned.
    pub result: vk::Result,
    /// Whether a host allocation failed, so that the driver was called.
    pub host_allocation: bool,
}
