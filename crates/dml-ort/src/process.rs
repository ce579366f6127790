//! Detection of forked processes. A child that was forked after a device was opened has the memory of Vulkan's
//! driver but not its threads: calls of Vulkan would wait for these forever.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};

/// The error that this process was forked from one that had opened a device.
#[derive(Debug)]
pub(crate) struct Forked {
    parent: u32,
    own: u32,
}

impl fmt::Display for Forked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { parent, own } = self;
        write!(
            f,
            "process {own} was forked from process {parent}, which had a device open, and has none of the \
             driver's threads; accepted: processes that are spawned, or forked before the first session"
        )
    }
}

/// The id of the process that opened the first device; 0 before that.
static OPENED_BY: AtomicU32 = AtomicU32::new(0);

/// Records that this process opens a device.
///
/// # Errors
/// A process that this one was forked from has opened one.
pub(crate) fn opens_a_device() -> Result<(), Forked> {
    let own = std::process::id();
    match OPENED_BY.compare_exchange(0, own, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => Ok(()),
        Err(_) => check(),
    }
}

/// Checks that devices may be used in this process.
///
/// # Errors
/// As [`opens_a_device`].
pub(crate) fn check() -> Result<(), Forked> {
    if !is_forked() {
        return Ok(());
    }
    Err(Forked { parent: OPENED_BY.load(Ordering::Relaxed), own: std::process::id() })
}

/// Whether a process that this one was forked from has opened a device.
pub(crate) fn is_forked() -> bool {
    let opened_by = OPENED_BY.load(Ordering::Relaxed);
    opened_by != 0 && opened_by != std::process::id()
}
