//! Reading and writing the caller's memory. Nothing is assumed of a pointer's alignment.

use std::ffi::{CStr, c_char};
use std::slice;
use std::sync::Arc;

use crate::boundary::{Failure, Result};

/// # Safety
///
/// `pointer` is null or points to a `T`.
pub(crate) unsafe fn read<T: Copy>(pointer: *const T, name: &str) -> Result<T> {
    if pointer.is_null() {
        return Err(Failure::invalid(name, "null"));
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { pointer.read_unaligned() })
}

/// Reads the `index`-th element of an array.
///
/// # Safety
///
/// `pointer` is null or points to more than `index` values.
unsafe fn read_at<T: Copy>(pointer: *const T, index: usize, name: &str) -> Result<T> {
    // SAFETY: within the array, by the caller's promise; nothing is read through null.
    unsafe { read(pointer.wrapping_add(index), name) }
}

/// Reads `count` values, at most `most`. If `count` is 0, the pointer may be null.
///
/// # Safety
///
/// `pointer` is null or points to `count` values, unless `count` is above `most`.
pub(crate) unsafe fn read_array<T: Copy>(
    pointer: *const T,
    count: u32,
    most: usize,
    name: &str,
) -> Result<Vec<T>> {
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    if count > most {
        return Err(Failure::invalid(name, format_args!("{count} elements, more than {most}")));
    }
    if count > 0 && pointer.is_null() {
        return Err(Failure::invalid(name, format_args!("null, with {count} elements")));
    }
    // SAFETY: the caller's promise.
    (0..count).map(|index| unsafe { read_at(pointer, index, name) }).collect()
}

/// Reads `count` bytes, at most `most`. If `count` is 0, the pointer may be null.
///
/// # Safety
///
/// `pointer` is null or points to `count` bytes, unless `count` is above `most`.
pub(crate) unsafe fn read_bytes(
    pointer: *const u8,
    count: u64,
    most: u64,
    name: &str,
) -> Result<Arc<[u8]>> {
    // A slice has at most `isize::MAX` bytes.
    let length = isize::try_from(count).ok().filter(|_| count <= most);
    let Some(length) = length else {
        return Err(Failure::invalid(name, format_args!("{count} bytes, more than {most}")));
    };
    if length == 0 {
        return Ok(Arc::default());
    }
    if pointer.is_null() {
        return Err(Failure::invalid(name, format_args!("null, with {count} bytes")));
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { slice::from_raw_parts(pointer, length.unsigned_abs()) }.into())
}

/// # Safety
///
/// `pointer` is null or points to memory for a `T`.
pub(crate) unsafe fn write<T>(pointer: *mut T, value: T, name: &str) -> Result<()> {
    if pointer.is_null() {
        return Err(Failure::invalid(name, "null"));
    }
    // SAFETY: the caller's promise.
    unsafe { pointer.write_unaligned(value) };
    Ok(())
}

/// Checks that a reserved field is 0.
pub(crate) fn reserved(given: u32, name: &str) -> Result<()> {
    match given {
        0 => Ok(()),
        given => Err(Failure::invalid(name, format_args!("{given} (accepted: 0)"))),
    }
}

/// The text at `pointer`; `None` if it is null.
///
/// # Safety
///
/// `pointer` is null or points to a string that ends with a NUL and outlives the result.
pub(crate) unsafe fn text<'a>(pointer: *const c_char) -> Option<&'a CStr> {
    if pointer.is_null() {
        return None;
    }
    // SAFETY: the caller's promise.
    Some(unsafe { CStr::from_ptr(pointer) })
}

/// Reads a struct that begins with its own size. The size is checked before the rest is read, because a
/// program that was built for another version may have a shorter struct.
///
/// # Safety
///
/// `pointer` is null or points to a `struct_size`, and to a `T` if that is the size of a `T`.
pub(crate) unsafe fn read_sized<T: Copy>(pointer: *const T, name: &str) -> Result<T> {
    // SAFETY: the caller's promise.
    let given = unsafe { read(pointer.cast::<u32>(), name) }?;
    let size = size_of::<T>();
    if usize::try_from(given).ok() != Some(size) {
        return Err(Failure::invalid(
            format_args!("{name}.struct_size"),
            format_args!("{given} (accepted: {size})"),
        ));
    }
    // SAFETY: the caller's promise, for this size.
    unsafe { read(pointer, name) }
}
