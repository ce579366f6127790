//! Host memory as the host sees it: a copy that is only updated by flushes and invalidations.

use std::collections::HashMap;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

use dml_vk::ash::vk::{self, Handle as _};

use super::answers::ATOM;

/// The copy's first contents: the contents of new memory are undefined.
const UNDEFINED: u8 = 0xa5;

/// At least the minMemoryMapAlignment of any driver.
const MAP_ALIGNMENT: usize = 4096;

/// A piece of host memory.
struct Shadow {
    /// The host's copy, from `start` on.
    copy: Vec<u8>,
    start: usize,
    /// The memory that the device sees: mapped as long as it lives.
    real: NonNull<u8>,
    size: usize,
}

impl Shadow {
    /// The host's address of byte `offset`, which is at most the size.
    fn host(&mut self, offset: usize) -> *mut u8 {
        self.copy.as_mut_ptr().wrapping_add(self.start + offset)
    }
}

// SAFETY: the mapped memory belongs to no thread.
unsafe impl Send for Shadow {}

static ALL: Mutex<Option<HashMap<u64, Shadow>>> = Mutex::new(None);

fn with<T>(use_them: impl FnOnce(&mut HashMap<u64, Shadow>) -> T) -> T {
    use_them(ALL.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default())
}

/// Keeps a copy of `memory` from now on.
///
/// # Safety
///
/// `real` is the start of its `size` bytes, which stay mapped until [`remove`] has returned.
pub(super) unsafe fn insert(memory: vk::DeviceMemory, real: NonNull<u8>, size: usize) {
    let copy = vec![UNDEFINED; size + MAP_ALIGNMENT];
    let start = copy.as_ptr().align_offset(MAP_ALIGNMENT);
    with(|all| all.insert(memory.as_raw(), Shadow { copy, start, real, size }));
}

/// Removes the copy of `memory`; returns whether there was one.
pub(super) fn remove(memory: vk::DeviceMemory) -> bool {
    with(|all| all.remove(&memory.as_raw())).is_some()
}

/// The host's address of byte `offset` of `memory`; `None` if the host cannot map it.
pub(super) fn address(memory: vk::DeviceMemory, offset: u64) -> Option<*mut u8> {
    with(|all| {
        let shadow = all.get_mut(&memory.as_raw())?;
        let offset = usize::try_from(offset).ok().filter(|it| *it < shadow.size)?;
        Some(shadow.host(offset))
    })
}

/// The direction of a copy.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    ToDevice,
    ToHost,
}

/// Copies the atoms that a range touches; returns whether the host can map the memory.
pub(super) fn copy(range: &vk::MappedMemoryRange<'_>, direction: Direction) -> bool {
    with(|all| {
        let Some(shadow) = all.get_mut(&range.memory.as_raw()) else { return false };
        let bytes = atoms(range.offset, range.size, shadow.size);
        let host = shadow.host(bytes.start);
        let device = shadow.real.as_ptr().wrapping_add(bytes.start);
        let (from, to) = match direction {
            Direction::ToDevice => (host, device),
            Direction::ToHost => (device, host),
        };
        // SAFETY: both are as long as the memory, in which `bytes` lies, and are not the same; whoever flushes or
        // invalidates has promised that nobody else writes there meanwhile.
        unsafe { from.copy_to_nonoverlapping(to, bytes.len()) };
        true
    })
}

/// The bytes of the whole atoms around a range, inside of memory of `size` bytes.
fn atoms(offset: u64, length: u64, size: usize) -> Range<usize> {
    let end = if length == vk::WHOLE_SIZE { u64::MAX } else { offset.saturating_add(length) };
    let end = end.checked_next_multiple_of(ATOM).and_then(|it| usize::try_from(it).ok());
    let start = usize::try_from(offset - offset % ATOM).unwrap_or(size);
    start.min(size)..end.unwrap_or(size).min(size)
}
