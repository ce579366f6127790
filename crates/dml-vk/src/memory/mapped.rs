//! Copies between the host and mapped memory, through pointers: no reference into it is ever made.
//!
//! Both functions are called when all of this crate's submissions that use the buffer have completed.

use std::ops::Range;
use std::ptr::NonNull;
use std::sync::PoisonError;

use crate::error::{Error, Result};
use crate::memory::buffer::Buffer;

/// Writes `bytes`, which fit, from `offset` on, and flushes them.
pub(crate) fn write_mapped(
    buffer: &Buffer,
    mapped: NonNull<u8>,
    offset: u64,
    bytes: &[u8],
) -> Result<()> {
    let shared = &buffer.shared;
    let _guard = shared.host.lock().unwrap_or_else(PoisonError::into_inner);
    let size = bytes.len() as u64;
    // Flushing writes whole atoms of non-coherent memory: the device's writes to the rest of the first and
    // the last atom are read first.
    shared.allocator.invalidate(&shared.allocation, offset, size)?;
    // SAFETY: the range was checked to lie inside the buffer, whose memory is mapped as a whole.
    let destination = unsafe { mapped.add(host_offset(offset)?) };
    // SAFETY: `destination` is valid for `bytes.len()` bytes as above, and no reference into mapped
    // memory exists; the lock keeps other host threads away. Of the device, this crate's own work has
    // completed, and a caller's stays off these bytes by the promise at `record_plan`.
    unsafe { destination.as_ptr().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    shared.allocator.flush(&shared.allocation, offset, size)
}

/// Reads `range`, which lies inside the buffer and is as long as `into`.
pub(crate) fn read_mapped(
    buffer: &Buffer,
    mapped: NonNull<u8>,
    range: Range<u64>,
    into: &mut [u8],
) -> Result<()> {
    let shared = &buffer.shared;
    let _guard = shared.host.lock().unwrap_or_else(PoisonError::into_inner);
    if range.end - range.start != into.len() as u64 {
        return Err(Error::internal("a range of mapped memory is not as long as its destination"));
    }
    shared.allocator.invalidate(&shared.allocation, range.start, into.len() as u64)?;
    // SAFETY: the range was checked to lie inside the buffer, whose memory is mapped as a whole.
    let source = unsafe { mapped.add(host_offset(range.start)?) };
    // SAFETY: `source` is valid for as many bytes as `into` has, as above, and no reference into mapped
    // memory exists; the lock keeps other host threads from writing. Of the device, this crate's own work
    // has completed, and a caller's does not write these bytes by the promise at `record_plan`.
    unsafe { into.as_mut_ptr().copy_from_nonoverlapping(source.as_ptr(), into.len()) };
    Ok(())
}

/// An offset inside mapped memory, which fits the host's address space.
fn host_offset(offset: u64) -> Result<usize> {
    usize::try_from(offset).map_err(|_| Error::internal("a mapped offset exceeds usize"))
}
