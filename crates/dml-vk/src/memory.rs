//! Memory, the buffers that have it, and sets of bytes in them.

pub(crate) mod allocator;
pub(crate) mod buffer;
pub(crate) mod ranges;
