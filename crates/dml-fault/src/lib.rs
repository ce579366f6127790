//! Tools for tests: Vulkan calls that fail or answer otherwise, and Vulkan without the runtime.
//!
//! An [`Injector`] makes any Vulkan call of the runtime fail, and counts what is left over;
//! [`replacing!`] puts functions of one's own in the place of Vulkan's. A [`Caller`] is a program that
//! owns its Vulkan objects, and [`device_cycle`] does without the runtime altogether.
#![allow(unsafe_code, reason = "functions in the place of Vulkan's, and plain calls of it")]

mod bare;
mod books;
mod caller;
mod compile;
mod devices;
mod dispatch;
mod entry_point;
mod error;
mod fault;
mod host;
mod host_copy;
mod injector;
mod replacing;
mod shapes;
mod table;
mod unknown;
mod watch;

pub use dml_vk;

pub use bare::device_cycle;
pub use caller::commands::{Commands, Gate};
pub use caller::{Caller, CallerBuffer};
pub use compile::compile;
pub use devices::usable_devices;
pub use entry_point::EntryPoint;
pub use fault::{Fault, Hit};
pub use host_copy::{HeldCopy, HostCopies};
pub use injector::Injector;
pub use replacing::{validation_layer, without_pipeline_barriers};
pub use watch::Watcher;
