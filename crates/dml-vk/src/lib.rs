//! The Vulkan half of the runtime: devices, memory, pipelines, recording, submission.
//!
//! It executes [`dml_core::plan::Plan`]s and names no operator.
//!
//! ```text
//! Instance                     VkInstance, loader, validation messages
//! └─ PhysicalDevice            who it is, limits, features, whether it can be used
//!    └─ Device                 VkDevice, queue and timeline, allocator, pipeline cache
//!       ├─ Buffer              VkBuffer and its memory
//!       ├─ CompiledOperator    plans with pipelines, barriers, constants
//!       │  └─ BindingTable     descriptor sets, patched push constants; keeps buffers
//!       └─ Recorder            VkCommandBuffer; keeps tables and buffers
//!          └─ CommandList      recorded, not in flight
//!             └─ Submission    in flight; keeps all of the above
//! ```
//!
//! # Lifetimes
//!
//! Each object owns a reference to its parent and destroys its own handle only, so whatever order
//! the caller drops things in is sound. Work in flight owns what it uses: dropping a [`Submission`]
//! waits.
//!
//! # Threads
//!
//! Everything is `Send + Sync` but [`Recorder`], which is `Send`: one recorder per thread. The queue
//! and the allocator are behind locks.
//!
//! # Bring your own
//!
//! [`Device::from_raw`] wraps a device that the caller created, [`Device::wrap_buffer`] a buffer, and
//! [`record_plan`] records into the caller's command buffer: nothing is submitted, waited for or
//! allocated, and the caller's barriers follow [`access()`]. Objects of the caller are never
//! destroyed. An own device differs only in who created it.
//!
//! # Who checks what
//!
//! `dml-core` has refused every wrong description before a plan exists. This crate checks what only
//! the device knows: limits, features, usages, ranges of bindings. A plan that breaks its own rules
//! is an [`Error::Internal`]. Device loss is sticky; out of memory fails one call.
//!
//! # Unsafe code
//!
//! It is here, at the C boundary, and in one block of `dml`, which vouches for what it compiles. Each `unsafe` block is one operation, and its SAFETY
//! comment says what keeps it true. Every entry point is called through one replaceable table, see
//! [`EntryPoints`].
#![allow(unsafe_code, reason = "the one crate that calls Vulkan")]

mod access;
#[cfg(feature = "fault-injection")]
#[doc(hidden)]
pub mod bare;
mod barrier;
mod binding;
mod buffer;
mod capabilities;
mod compiled;
mod debug;
mod descriptors;
mod device;
mod entry;
mod error;
#[cfg(feature = "fault-injection")]
pub mod fault;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod instance;
mod local_size;
mod memory;
mod physical;
mod pieces;
mod pipeline;
mod pipeline_file;
mod pipeline_keeper;
mod plan_check;
mod queue;
mod ranges;
mod raw;
mod record;
mod recorder;
mod select;
mod submit;
mod table;
mod timestamps;
mod transfer;
mod wrap;

pub use access::{AccessContract, access};
pub use ash;
pub use barrier::{Barrier, derive_barriers};
pub use binding::{BINDING_ALIGNMENT, Bindings, BufferBinding, RESOURCE_ALIGNMENT};
pub use buffer::{Buffer, BufferDesc, BufferUsage};
pub use compiled::{BindingProperties, CompileInput, CompiledOperator};
pub use debug::{ValidationLog, ValidationMessage, ValidationSeverity};
pub use device::{Device, DeviceDesc, LiveObjects};
pub use entry::EntryPoints;
pub use error::{Error, MemoryKind, Result};
pub use instance::{Instance, InstanceDesc, Validation};
pub use memory::{MemoryLocation, MemoryReport};
pub use physical::{DeviceInfo, DeviceType, PhysicalDevice, packed_version};
pub use queue::QueueLock;
pub use record::{Phase, record_plan};
pub use recorder::{CommandList, Recorder};
pub use select::DeviceSelector;
pub use submit::Submission;
pub use table::BindingTable;
pub use timestamps::Timestamps;
pub use wrap::{RawBufferDesc, RawDeviceDesc, RawQueue};
