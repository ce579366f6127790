//! Which process opens devices. A child that was forked after that has the memory of Vulkan's driver, and none
//! of the driver's threads: calls of Vulkan would wait for these without end.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::boundary::{Code, Failure, Result};

/// The process that opened the first device; 0 before.
static OPENED_BY: AtomicU32 = AtomicU32::new(0);

/// Says that this process opens a device.
///
/// # Errors
/// A process that this one was forked from has opened one.
pub(crate) fn opens_a_device() -> Result<()> {
    let own = std::process::id();
    match OPENED_BY.compare_exchange(0, own, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => Ok(()),
        Err(_) => check(),
    }
}

/// Whether devices may be used.
///
/// # Errors
/// As [`opens_a_device`].
pub(crate) fn check() -> Result<()> {
    if !is_forked() {
        return Ok(());
    }
    let (parent, own) = (OPENED_BY.load(Ordering::Relaxed), std::process::id());
    Err(Failure::new(
        Code::Fail,
        format!(
            "process {own} was forked from process {parent}, which had a device open, and has none of \
             the driver's threads; accepted: processes that are spawned, or forked before the first session"
        ),
    ))
}

/// Whether a process that this one was forked from has opened a device.
pub(crate) fn is_forked() -> bool {
    let opened_by = OPENED_BY.load(Ordering::Relaxed);
    opened_by != 0 && opened_by != std::process::id()
}
