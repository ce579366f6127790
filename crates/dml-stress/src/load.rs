//! Parts that `cycles` and `soak` share: devices, verified work, and memory usage.

mod job;
mod place;
mod usage;

pub(crate) use job::{Job, Work};
pub(crate) use place::{DeviceArgs, Place};
pub(crate) use usage::{Stretches, Usage, heap, resident, signed_bytes};
