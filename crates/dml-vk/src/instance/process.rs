//! The process that an instance or a device belongs to.

use crate::error::{Error, Result};

/// The process that made an object of Vulkan.
///
/// A process that is forked from it has a copy of the object, but none of the driver's threads, and shares the
/// driver's open files: waiting may never end, and freeing may free what the first process uses. So nothing of
/// Vulkan is called for the copy, not even to destroy it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process(u32);

impl Process {
    pub(crate) fn current() -> Self {
        Self(std::process::id())
    }

    pub(crate) fn is_current(self) -> bool {
        self == Self::current()
    }

    /// Fails in a process that was forked from this one.
    pub(crate) fn ensure_current(self) -> Result<()> {
        if self.is_current() { Ok(()) } else { Err(Error::Forked { parent: self.0 }) }
    }
}
