//! VkAllocationCallbacks that count blocks and let one allocation fail.
//!
//! Only allocations of a thread inside of a call that can report a failure are numbered, and only those
//! inside of a call that creates an object are expected to be freed. Drivers also allocate while commands are
//! recorded, when objects get names, and on threads of their own. These allocations are not checked: Mesa
//! 22.3 does not free all of them, and frees a pointer that it does not own if one fails.

use std::alloc::{Layout, alloc, dealloc};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, PoisonError};

use dml_vk::ash::vk;

static ENABLED: AtomicBool = AtomicBool::new(false);
/// Blocks that have not been freed, by their addresses.
static BLOCKS: Mutex<BTreeMap<usize, Block>> = Mutex::new(BTreeMap::new());
static NUMBERED: Mutex<Numbered> =
    Mutex::new(Numbered { allocations: Vec::new(), failing: None, failed: None });

thread_local! {
    /// The call that this thread is in, if it can report a failure.
    static CALL: Cell<Option<InCall>> = const { Cell::new(None) };
}

/// The allocations inside of calls that can report a failure.
struct Numbered {
    /// The call of each allocation.
    allocations: Vec<&'static str>,
    /// The number of the allocation that is to fail.
    failing: Option<usize>,
    /// The call in which it has failed.
    failed: Option<&'static str>,
}

struct Block {
    layout: Layout,
    /// The call that it was allocated in, if the block is counted.
    call: Option<&'static str>,
}

/// A call that can report a failure.
#[derive(Clone, Copy)]
struct InCall {
    name: &'static str,
    creates: bool,
}

/// The thread counts as inside of a call as long as this lives.
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
    *numbered() = Numbered { allocations: Vec::new(), failing, failed: None };
}

/// The call in which an allocation has failed.
pub(crate) fn failed() -> Option<&'static str> {
    numbered().failed
}

pub(crate) fn allocations() -> Vec<&'static str> {
    numbered().allocations.clone()
}

fn numbered() -> MutexGuard<'static, Numbered> {
    NUMBERED.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn live() -> Vec<(&'static str, usize)> {
    let mut live = BTreeMap::<_, usize>::new();
    for call in lock_blocks().values().filter_map(|block| block.call) {
        *live.entry(call).or_default() += 1;
    }
    live.into_iter().collect()
}

/// Stops expecting the blocks that are not freed; freeing them later is fine.
pub(crate) fn write_off() {
    lock_blocks().values_mut().for_each(|block| block.call = None);
}

fn lock_blocks() -> MutexGuard<'static, BTreeMap<usize, Block>> {
    BLOCKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The callbacks for a call: the recorder's if it is enabled and the call has none.
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

    /// The pointer is valid as long as `self` is not moved.
    pub(crate) fn as_ptr<'a>(&self) -> *const vk::AllocationCallbacks<'a> {
        self.0.as_ref().map_or(self.1.cast(), |own| ptr::from_ref(own).cast())
    }
}

/// Allocates a block, also for 0 bytes: drivers take null for a failure.
fn allocate_block(size: usize, alignment: usize) -> *mut c_void {
    let call = CALL.get();
    if let Some(call) = call {
        let mut numbered = numbered();
        numbered.allocations.push(call.name);
        if numbered.failing == Some(numbered.allocations.len()) {
            numbered.failed = Some(call.name);
            return ptr::null_mut();
        }
    }
    let call = call.filter(|call| call.creates).map(|call| call.name);
    let Ok(layout) = Layout::from_size_align(size.max(1), alignment) else {
        return ptr::null_mut();
    };
    // SAFETY: the layout is not empty.
    let block = unsafe { alloc(layout) };
    if !block.is_null() {
        lock_blocks().insert(block.addr(), Block { layout, call });
    }
    block.cast()
}

/// # Safety
///
/// `block` was allocated by `allocate_block`, and is not used any more. Any other address ends the process.
unsafe fn free_block(block: *mut c_void) {
    let found = lock_blocks().remove(&block.addr());
    let layout = found.expect("drivers free what they were given, and once").layout;
    // SAFETY: the allocation was made with this layout.
    unsafe { dealloc(block.cast(), layout) };
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
        let old = lock_blocks().get(&original.addr()).map_or(0, |block| block.layout.size());
        // SAFETY: both blocks have at least so many bytes, and are different.
        unsafe { block.cast::<u8>().copy_from_nonoverlapping(original.cast(), old.min(size)) };
        // SAFETY: Vulkan gives back what it was given, and uses it no more.
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
