//! Operators: compiled for a device, bound to buffers, recorded.

pub(crate) mod binding;
pub(crate) mod compiled;
pub(crate) mod compiled_plan;
pub(crate) mod descriptors;
pub(crate) mod lazy;
pub(crate) mod part;
pub(crate) mod record;
pub(crate) mod slot_buffers;
pub(crate) mod table;
