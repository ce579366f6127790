//! An allocator that counts, for the test programs that include this module.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

/// How often the calling thread has allocated. Drivers written in C have their own allocator, so
/// only this project's allocations are seen.
#[allow(dead_code, reason = "some test programs count bytes only")]
pub(crate) fn allocations() -> usize {
    ALLOCATIONS.with(Cell::get)
}

/// The bytes of all allocations that were made and not freed, by all threads.
static LIVE: AtomicUsize = AtomicUsize::new(0);

/// How many bytes the process has allocated and not freed, but for what drivers allocate.
#[allow(dead_code, reason = "some test programs count allocations only")]
pub(crate) fn live_bytes() -> usize {
    LIVE.load(Ordering::Relaxed)
}

struct Counting;

impl Counting {
    /// An allocation of this size by the calling thread.
    fn count(size: usize) {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        LIVE.fetch_add(size, Ordering::Relaxed);
    }
}

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Self::count(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        Self::count(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    /// Counts as an allocation, wherever the block is afterwards.
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        Self::count(size);
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) };
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;
