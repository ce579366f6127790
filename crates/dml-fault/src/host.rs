//! VkAllocationCallbacks that count blocks and let one allocation fail.
//!
//! Only what a thread allocates inside of a call that can report a failure is numbered, and only what
//! it allocates inside of one that creates an object is expected to be freed. Drivers also allocate
//! while commands are recorded, when objects get names, and on threads of their own; that is theirs to
//! handle: Mesa 22.3 does not free all of it, and frees a pointer that it does not own where it fails.

use std::alloc::{Layout, alloc, dealloc};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, PoisonError};

use dml_vk::ash::vk;

static ENABLED: AtomicBool = AtomicBool::new(false);
/// Blocks that are not freed, by the call that they were allocated in.
static LIVE: Mutex<BTreeMap<&'static str, usize>> = Mutex::new(BTreeMap::new());
/// For each numbered allocation the call that it was made in.
static ALLOCATIONS: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());
/// The number of the allocation that fails; 0 for none.
static FAILING: AtomicUsize = AtomicUsize::new(0);
/// In which call one has failed.
static FAILED: Mutex<Option<&'static str>> = Mutex::new(None);

thread_local! {
    /// The call that this thread is in, where it can report a failure.
    static CALL: Cell<Option<InCall>> = const { Cell::new(None) };
}

/// A call that can report a failure.
#[derive(Clone, Copy)]
struct InCall {
    name: &'static str,
    creates: bool,
}

/// The thread is in a call as long as this lives.
pub(crate) struct Scope(());

impl Scope {
    /// `creates`: whether the call makes objects that are destroyed later.
    pub(crate) fn new(name: &'static str, creates: bool) -> Self {
        CALL.set(Some(InCall { name, creates }));
        Self(())
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        CALL.set(None);
    }
}

pub(crate) fn begin(enabled: bool) {
    ENABLED.store(enabled, SeqCst);
    arm(None);
}

pub(crate) fn end() {
    begin(false);
}

pub(crate) fn arm(failing: Option<usize>) {
    FAILING.store(failing.unwrap_or(0), SeqCst);
    lock_allocations().clear();
    *FAILED.lock().unwrap_or_else(PoisonError::into_inner) = None;
}

/// The call in which an allocation has failed.
pub(crate) fn failed() -> Option<&'static str> {
    *FAILED.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn allocations() -> Vec<&'static str> {
    lock_allocations().clone()
}

fn lock_allocations() -> MutexGuard<'static, Vec<&'static str>> {
    ALLOCATIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn live() -> Vec<(&'static str, usize)> {
    let live = lock_live();
    live.iter().filter(|(_, count)| **count > 0).map(|(call, count)| (*call, *count)).collect()
}

/// Blocks that are freed after all are not missed.
pub(crate) fn write_off() {
    lock_live().clear();
}

fn lock_live() -> MutexGuard<'static, BTreeMap<&'static str, usize>> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a call gets as its callbacks: the recorder's where it is enabled and the call had none.
pub(crate) struct Callbacks(Option<vk::AllocationCallbacks<'static>>, *const c_void);

impl Callbacks {
    pub(crate) fn instead_of(given: *const vk::AllocationCallbacks<'_>) -> Self {
        let own = given.is_null() && ENABLED.load(SeqCst);
        let own = own.then(|| {
            vk::AllocationCallbacks::default()
                .pfn_allocation(Some(allocate))
                .pfn_reallocation(Some(reallocate))
                .pfn_free(Some(free))
        });
        Self(own, given.cast())
    }

    /// Valid as long as `self` stays where it is.
    pub(crate) fn as_ptr<'a>(&self) -> *const vk::AllocationCallbacks<'a> {
        self.0.as_ref().map_or(self.1.cast(), |own| ptr::from_ref(own).cast())
    }
}

/// Stands directly before each block.
#[derive(Clone, Copy)]
struct Header {
    /// The block's own size.
    size: usize,
    /// From the start of the allocation to the block.
    offset: usize,
    layout: Layout,
    /// The call that it was allocated in, where it is counted.
    call: Option<&'static str>,
}

fn layout(size: usize, alignment: usize) -> Option<(Layout, usize)> {
    let alignment = alignment.max(align_of::<Header>());
    let offset = size_of::<Header>().checked_next_multiple_of(alignment)?;
    Layout::from_size_align(size.checked_add(offset)?, alignment).ok().map(|it| (it, offset))
}

/// A block of no bytes is one as well: drivers take null for a failure.
fn allocate_block(size: usize, alignment: usize) -> *mut c_void {
    let call = CALL.get();
    if let Some(call) = call {
        let number = {
            let mut allocations = lock_allocations();
            allocations.push(call.name);
            allocations.len()
        };
        if number == FAILING.load(SeqCst) {
            *FAILED.lock().unwrap_or_else(PoisonError::into_inner) = Some(call.name);
            return ptr::null_mut();
        }
    }
    let call = call.filter(|it| it.creates).map(|it| it.name);
    let Some((layout, offset)) = layout(size, alignment) else { return ptr::null_mut() };
    // SAFETY: the layout is not empty, as it has room for a header.
    let start = unsafe { alloc(layout) };
    if start.is_null() {
        return ptr::null_mut();
    }
    // SAFETY: the block begins inside the allocation, after room for the header.
    let block = unsafe { start.add(offset) };
    // SAFETY: as above.
    let header = unsafe { block.sub(size_of::<Header>()) }.cast::<Header>();
    // SAFETY: the place is inside the allocation, and aligned, as the block's alignment is at least
    // the header's and the header's size a multiple of it.
    unsafe { header.write(Header { size, offset, layout, call }) };
    if let Some(call) = call {
        *lock_live().entry(call).or_default() += 1;
    }
    block.cast()
}

/// # Safety
///
/// `block` was allocated by `allocate_block` and not freed.
unsafe fn header(block: *mut c_void) -> Header {
    // SAFETY: the header stands directly before the block.
    let header = unsafe { block.cast::<u8>().sub(size_of::<Header>()) };
    // SAFETY: as above; it was written when the block was allocated.
    unsafe { header.cast::<Header>().read() }
}

/// # Safety
///
/// As [`header`]; the block is used no more.
unsafe fn free_block(block: *mut c_void) {
    // SAFETY: the caller's promise.
    let header = unsafe { header(block) };
    // SAFETY: the allocation starts this far before the block.
    let start = unsafe { block.cast::<u8>().sub(header.offset) };
    // SAFETY: the allocation was made with this layout.
    unsafe { dealloc(start, header.layout) };
    let mut live = lock_live();
    if let Some(count) = header.call.and_then(|call| live.get_mut(call)) {
        *count = count.saturating_sub(1);
    }
}

unsafe extern "system" fn allocate(
    _: *mut c_void,
    size: usize,
    alignment: usize,
    _: vk::SystemAllocationScope,
) -> *mut c_void {
    allocate_block(size, alignment)
}

unsafe extern "system" fn reallocate(
    _: *mut c_void,
    original: *mut c_void,
    size: usize,
    alignment: usize,
    _: vk::SystemAllocationScope,
) -> *mut c_void {
    if original.is_null() {
        return allocate_block(size, alignment);
    }
    if size == 0 {
        // SAFETY: Vulkan gives back what it was given, and uses it no more.
        unsafe { free_block(original) };
        return ptr::null_mut();
    }
    let block = allocate_block(size, alignment);
    if !block.is_null() {
        // SAFETY: Vulkan gives back what it was given.
        let kept = unsafe { header(original) }.size.min(size);
        // SAFETY: both blocks have at least so many bytes, and are different.
        unsafe { block.cast::<u8>().copy_from_nonoverlapping(original.cast(), kept) };
        // SAFETY: as above; it is used no more.
        unsafe { free_block(original) };
    }
    block
}

unsafe extern "system" fn free(_: *mut c_void, block: *mut c_void) {
    if !block.is_null() {
        // SAFETY: Vulkan gives back what it was given, and uses it no more.
        unsafe { free_block(block) };
    }
}
