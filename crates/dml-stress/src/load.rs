//! What `cycles` and `soak` share: devices, work that is verified, and what it uses.

mod job;
mod place;
mod usage;

pub(crate) use job::{Job, Work};
pub(crate) use place::{DeviceArgs, Place};
pub(crate) use usage::{Stretches, Usage, heap, resident, signed_bytes};
