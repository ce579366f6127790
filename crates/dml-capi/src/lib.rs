//! The C interface of the runtime: `include/dmlvk/dmlvk.h`.
//!
//! Descriptors are DirectML's own structs (`include/dmlvk/directml_types.h`), so that code that fills them
//! works unchanged; functions are this library's, with the prefix `dmlvk_`.
//!
//! # Handles
//!
//! A handle is not an address but a number that is looked up ([`handle`]): a null handle, a handle of another
//! kind or of a destroyed object gives an error and is never dereferenced. Destroying an object destroys all
//! objects that were made from it; their handles give errors from then on.
//!
//! # Errors
//!
//! Every function returns an `HRESULT` ([`boundary`]); [`dmlvk_last_message`] gives the error message of
//! the thread's last failure. A panic is caught and reported as `E_UNEXPECTED`.
//!
//! # Threads
//!
//! Every function may be called on any thread at any time. Only a command buffer belongs to one thread,
//! by Vulkan's own rule.
//!
//! # What cannot be detected
//!
//! Pointers that are neither null nor valid; Vulkan handles that are not what they are said to be; a
//! binding table that is destroyed while commands recorded from it are pending. The Safety section of each
//! function states its preconditions.
//!
//! # Unsafe code
//!
//! The caller's pointers are read and written only in [`memory`] and in the functions that C calls.
#![allow(unsafe_code, reason = "the C boundary reads and writes the caller's memory")]

mod access;
mod boundary;
mod buffer;
mod decode;
mod device;
mod enablement;
mod execute;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod handle;
mod initializer;
mod memory;
mod operator;
mod submit;
mod support;
mod table;
mod types;
mod wrap;

pub use access::*;
pub use boundary::dmlvk_last_message;
pub use buffer::*;
pub use device::*;
pub use enablement::*;
pub use execute::*;
pub use initializer::*;
pub use operator::*;
pub use submit::*;
pub use support::*;
pub use table::*;
pub use types::*;
pub use wrap::*;
