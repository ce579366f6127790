//! Memory, buffers, and sets of bytes in them.

pub(crate) mod allocator;
pub(crate) mod buffer;
pub(crate) mod mapped;
pub(crate) mod ranges;
pub(crate) mod types;

/// Every binding's offset is a multiple of this many bytes.
pub const BINDING_ALIGNMENT: u64 = 16;

/// The offsets of temporary and persistent resources are multiples of this many bytes.
pub const RESOURCE_ALIGNMENT: u64 = 256;
