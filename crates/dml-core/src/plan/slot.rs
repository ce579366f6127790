//! The buffers of a plan, and the byte ranges that steps read and write.

use std::fmt;
use std::ops::Range;

/// A buffer that a plan works on, named by its role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Slot {
    /// The n-th input binding of the operator.
    Input(u32),
    /// The n-th output binding of the operator.
    Output(u32),
    /// Scratch memory, undefined before and after execution.
    Temporary,
    /// Memory written once by initialization and read by every execution.
    Persistent,
    /// The plan's own constant block, filled when the operator is compiled.
    Constants,
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(index) => write!(f, "input {index}"),
            Self::Output(index) => write!(f, "output {index}"),
            Self::Temporary => f.write_str("temporary"),
            Self::Persistent => f.write_str("persistent"),
            Self::Constants => f.write_str("constants"),
        }
    }
}

/// Whether a step reads or writes a byte range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Reads only.
    Read,
    /// Writes only: the previous bytes are not read, and are kept where nothing is written.
    Write,
    /// Reads and writes, atomics included.
    ReadWrite,
}

impl Access {
    /// Whether the range may be read.
    pub fn reads(self) -> bool {
        matches!(self, Self::Read | Self::ReadWrite)
    }

    /// Whether the range may be written.
    pub fn writes(self) -> bool {
        matches!(self, Self::Write | Self::ReadWrite)
    }
}

/// The pipeline stage that executes a step, for barriers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Fills, updates and copies.
    Transfer,
    /// Dispatches.
    ComputeShader,
}

/// One byte range that a step reads or writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    /// The buffer.
    pub slot: Slot,
    /// Bytes relative to the start of the binding.
    pub range: Range<u64>,
    /// Reads, writes or both.
    pub access: Access,
}

/// The range of `size` bytes from `offset`. It saturates: a range that passes 2^64 is outside of every buffer,
/// and is refused for that.
pub(crate) fn span(offset: u64, size: u64) -> Range<u64> {
    offset..offset.saturating_add(size)
}
