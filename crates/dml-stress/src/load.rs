//! Parts that `cycles` and `soak` share: devices, verified work, and memory usage.

mod job;
mod load_device;
mod usage;

pub(crate) use job::{Job, Work};
pub(crate) use load_device::{DeviceArgs, LoadDevice};
pub(crate) use usage::{Stretches, Usage, heap, resident, signed_bytes};
