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
//! Each object owns a reference to its parent and only destroys its own handle, so that the caller may drop
//! objects in any order. Work in flight owns its resources: dropping a [`Submission`] waits.
//!
//! # Threads
//!
//! Every type is `Send + Sync` except [`Recorder`], which is `Send`: one recorder per thread. The queue and
//! the allocator are under locks.
//!
//! # Bring your own
//!
//! [`Device::from_raw`] wraps a device that the caller created, [`Device::wrap_buffer`] a buffer, and
//! [`record_plan`] records into the caller's command buffer: nothing is submitted, waited for or allocated,
//! and the caller's barriers follow [`access()`]. The caller's objects are never destroyed. Apart from its
//! creation, an own device is used in the same way.
//!
//! # Who checks what
//!
//! `dml-core` has refused every wrong descriptor before a plan exists. This crate checks the conditions that
//! depend on the device: limits, features, usages, ranges of bindings. A plan that breaks its own rules is an
//! [`Error::Internal`]. Device loss is permanent; out of memory only fails one call.
//!
//! # Unsafe code
//!
//! It is here, at the C boundary, and in one block of `dml`, which vouches for what it compiles. Each
//! `unsafe` block is one operation, and its SAFETY comment says what keeps it true. Every entry point is called through one replaceable table, see
//! [`EntryPoints`].
#![allow(unsafe_code, reason = "the one crate that calls Vulkan")]

mod bind;
mod device;
mod error;
mod instance;
mod memory;
mod pipeline;
mod record;
mod transfer;

pub use ash;
pub use bind::binding::{Bindings, BufferBinding};
pub use bind::compiled::{BindingProperties, CompileInput, CompiledOperator};
pub use bind::compiled_plan::Phase;
pub use bind::lazy::LowerPlan;
pub use bind::record::record_plan;
pub use bind::table::BindingTable;
pub use device::buffers::RawBufferDesc;
pub use device::desc::DeviceDesc;
pub use device::enablement::Enablement;
pub use device::heap::HeapReport;
pub use device::queue::{QueueLock, WorkCounts};
pub use device::semaphores::{SemaphoreValue, SubmitSemaphores};
pub use device::wrap::{RawDeviceDesc, RawPhysicalDevice, RawQueue};
pub use device::{Device, LiveObjects};
pub use error::{Error, MemoryKind, Result};
pub use instance::debug::{ValidationLog, ValidationMessage, ValidationSeverity};
pub use instance::entry::EntryPoints;
pub use instance::info::{DeviceInfo, DeviceType, packed_version};
pub use instance::physical::PhysicalDevice;
pub use instance::queues::QueueChoice;
pub use instance::select::DeviceSelector;
pub use instance::{Instance, InstanceDesc, Validation};
pub use memory::allocator::MemoryReport;
pub use memory::buffer::{Buffer, BufferDesc, BufferUsage};
pub use memory::types::MemoryLocation;
pub use memory::{BINDING_ALIGNMENT, RESOURCE_ALIGNMENT};
pub use pipeline::file::accepts_pipeline_file;
pub use record::access::{AccessContract, access};
pub use record::barrier::{Barrier, Concurrency, derive_barriers};
pub use record::recorder::{CommandList, Recorder};
pub use record::staged::ReadBack;
pub use record::submit::Submission;
pub use record::timestamps::Timestamps;
pub use transfer::HostAccess;
