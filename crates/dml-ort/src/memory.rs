//! The provider's device memory, as ONNX Runtime sees it: addresses that only this library can read.
//!
//! All devices have one memory. An allocation is a range of [addresses] without memory, so that ONNX Runtime may
//! compute with pointers, and has the [values](content) that were written to it: bytes of the host, or tensors of a
//! device. A value goes to a device when a run reads it there, and to the host when ONNX Runtime copies it, so that
//! values which stay on one side are never copied.

mod addresses;
mod allocator;
mod content;
mod transfer;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::boundary::{Failure, Result};
use addresses::Addresses;
pub(crate) use allocator::{Allocator, MemoryInfo};
pub(crate) use content::{Allocation, OutputUse, Value};
pub(crate) use transfer::{DataTransfer, Location, copy, location};

/// Whether this system has device memory: elsewhere tensors come from the host and go back there.
pub(crate) const IS_OFFERED: bool = cfg!(target_os = "linux");

/// Values of at most this many bytes are always known to the host, such as shapes and lengths: programs depend on at
/// most 64 integers of an input.
pub(crate) const SMALL: usize = 1 << 10;

/// The memory of the process.
static MEMORY: Mutex<Addresses> = Mutex::new(Addresses::new());

fn memory() -> MutexGuard<'static, Addresses> {
    MEMORY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A part of an allocation.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) allocation: Arc<Allocation>,
    pub(crate) offset: usize,
}

impl Place {
    /// Whether both begin at one address.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.allocation, &other.allocation) && self.offset == other.offset
    }
}

/// The place of a tensor of `size` bytes at this address; `None` if the address is not of this memory.
///
/// # Errors
/// The address was never allocated or is free again, or the tensor is larger than the rest of the allocation.
pub(crate) fn find(address: usize, size: usize) -> Result<Option<Place>> {
    let memory = memory();
    if !memory.contains(address) {
        return Ok(None);
    }
    let Some((allocation, offset)) = memory.find(address) else {
        return Err(Failure::invalid(format!(
            "device address {address:#x} is in no allocation; accepted: memory that is allocated and not yet freed"
        )));
    };
    let room = allocation.size() - offset;
    if size > room {
        return Err(Failure::invalid(format!(
            "{size} bytes at device address {address:#x}, where the allocation has {room} bytes"
        )));
    }
    Ok(Some(Place { allocation, offset }))
}

/// The address of a new allocation; `None` if there are no addresses left.
fn allocate(size: usize) -> Option<usize> {
    memory().allocate(size)
}

/// Frees the allocation that begins at an address; another address is ignored.
fn free(address: usize) {
    // Buffers are destroyed outside of the lock.
    let allocation = memory().free(address);
    drop(allocation);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_addresses_are_errors_and_others_are_not_ours() {
        let address = allocate(100).unwrap();
        assert!(find(0x1000, 4).unwrap().is_none());
        assert_eq!(find(address + 60, 40).unwrap().unwrap().offset, 60);
        let message = |address, size| find(address, size).err().unwrap().message().to_owned();
        assert!(message(address + 60, 41).contains("41 bytes at device address"));
        free(address + 1);
        assert!(find(address, 100).unwrap().is_some());
        free(address);
        assert!(message(address, 4).contains("is in no allocation"));
        free(address);
    }
}
