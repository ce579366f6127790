//! Counts the bytes that are copied, of all sessions of the process.

use std::sync::atomic::{AtomicU64, Ordering};

/// Between which memories bytes are copied.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Copied {
    /// From the host to a device.
    ToDevice,
    /// From a device to the host.
    FromDevice,
}

static COUNTERS: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

/// Counts `bytes` that were copied.
pub(crate) fn add(copied: Copied, bytes: usize) {
    COUNTERS[copied as usize].fetch_add(bytes as u64, Ordering::Relaxed);
}

/// Writes two numbers: the bytes that were copied to devices, and from devices, since the library was loaded.
///
/// # Safety
///
/// `counters` has room for two numbers.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "a name like those of ONNX Runtime's functions")]
pub(crate) unsafe extern "C" fn DmlVkCopiedBytes(counters: *mut u64) {
    for (at, counter) in COUNTERS.iter().enumerate() {
        // SAFETY: the caller's promise.
        let place = unsafe { counters.add(at) };
        // SAFETY: as above.
        unsafe { place.write(counter.load(Ordering::Relaxed)) };
    }
}
