//! Ranges of addresses without memory. Reading or writing them is a fault, so that nobody takes them for memory of the
//! host.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::content::Allocation;

/// Allocations begin at multiples of this many bytes, and do not touch each other: ONNX Runtime may compute the end of
/// one.
const ALIGNMENT: usize = 256;
/// The most addresses that are reserved: they cost nothing.
const MOST: usize = 1 << 40;
/// The fewest, where the system limits the addresses of a process.
const FEWEST: usize = 1 << 28;

/// The allocations of the process by their first address.
pub(super) struct Addresses {
    /// The reserved range; empty before the first allocation.
    first: usize,
    end: usize,
    /// Where the next allocation is tried. Addresses are used again as late as possible, so that a pointer to memory
    /// that is free again is found out.
    next: usize,
    allocations: BTreeMap<usize, Arc<Allocation>>,
}

impl Addresses {
    pub(super) const fn new() -> Self {
        Self { first: 0, end: 0, next: 0, allocations: BTreeMap::new() }
    }

    /// Whether an address is reserved, allocated or not.
    pub(super) fn contains(&self, address: usize) -> bool {
        (self.first..self.end).contains(&address)
    }

    /// The allocation with this address, and the offset of the address in it.
    pub(super) fn find(&self, address: usize) -> Option<(Arc<Allocation>, usize)> {
        let (first, allocation) = self.allocations.range(..=address).next_back()?;
        let offset = address - first;
        (offset <= allocation.size()).then(|| (Arc::clone(allocation), offset))
    }

    /// The address of a new allocation; `None` if no range is free.
    pub(super) fn allocate(&mut self, size: usize) -> Option<usize> {
        if self.end == 0 {
            let (first, size) = reserve()?;
            (self.first, self.end, self.next) = (first, first.checked_add(size)?, first);
        }
        // One byte more, so that the end is no other allocation's.
        let room = size.checked_add(1)?.checked_next_multiple_of(ALIGNMENT)?;
        let address = match self.free_from(self.next, room) {
            None => self.free_from(self.first, room)?,
            found => found?,
        };
        self.next = address + room;
        self.allocations.insert(address, Arc::new(Allocation::new(size)));
        Some(address)
    }

    /// The first range of free addresses of this size that begins at `address` or later.
    fn free_from(&self, mut address: usize, room: usize) -> Option<usize> {
        for (first, allocation) in self.allocations.range(address..) {
            if first - address >= room {
                return Some(address);
            }
            address = (first + allocation.size() + 1).next_multiple_of(ALIGNMENT);
        }
        (self.end.checked_sub(address)? >= room).then_some(address)
    }

    /// Removes the allocation that begins at an address.
    pub(super) fn free(&mut self, address: usize) -> Option<Arc<Allocation>> {
        self.allocations.remove(&address)
    }
}

/// Reserves addresses: the first, and how many.
#[cfg(target_os = "linux")]
fn reserve() -> Option<(usize, usize)> {
    use std::ffi::{c_int, c_long, c_void};

    unsafe extern "C" {
        fn mmap(
            address: *mut c_void,
            size: usize,
            protection: c_int,
            flags: c_int,
            file: c_int,
            offset: c_long,
        ) -> *mut c_void;
    }
    const PROT_NONE: c_int = 0;
    const MAP_PRIVATE: c_int = 0x2;
    const MAP_ANONYMOUS: c_int = 0x20;
    const MAP_NORESERVE: c_int = 0x4000;

    let mut size = MOST;
    while size >= FEWEST {
        let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
        // SAFETY: a new range of addresses, which nothing can access.
        let found = unsafe { mmap(std::ptr::null_mut(), size, PROT_NONE, flags, -1, 0) };
        // MAP_FAILED is the greatest address.
        if found.addr() != usize::MAX {
            return Some((found.addr(), size));
        }
        size /= 2;
    }
    None
}

#[cfg(not(target_os = "linux"))]
fn reserve() -> Option<(usize, usize)> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Few addresses, which need not be reserved: nothing accesses them.
    fn few(count: usize) -> Addresses {
        let first = 1 << 20;
        Addresses { first, end: first + count * ALIGNMENT, next: first, ..Addresses::new() }
    }

    #[test]
    fn allocations_do_not_touch() {
        let mut all = few(4);
        let [a, b] = [ALIGNMENT - 1, 1].map(|size| all.allocate(size).unwrap());
        assert_eq!(b - a, ALIGNMENT);
        let c = all.allocate(ALIGNMENT).unwrap();
        assert_eq!((c - b, all.allocate(0)), (ALIGNMENT, None));
        assert_eq!(all.find(c + ALIGNMENT).map(|it| it.1), Some(ALIGNMENT));
        assert!(all.find(c + ALIGNMENT + 1).is_none());
    }

    #[test]
    fn free_addresses_are_used_again_as_late_as_possible() {
        let mut all = few(3);
        let a = all.allocate(8).unwrap();
        all.free(a).unwrap();
        let [b, c] = [8, 8].map(|size| all.allocate(size).unwrap());
        assert_eq!([b - a, c - b], [ALIGNMENT; 2]);
        assert_eq!(all.allocate(8), Some(a));
        assert_eq!(all.allocate(8), None);
        all.free(b).unwrap();
        assert_eq!(all.allocate(8), Some(b));
    }

    #[test]
    fn sizes_that_do_not_fit_are_refused() {
        assert_eq!(few(4).allocate(usize::MAX), None);
        assert_eq!(few(4).allocate(4 * ALIGNMENT), None);
    }
}
