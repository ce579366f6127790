//! The byte ranges that steps touch.

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

/// How a step touches a byte range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Reads only.
    Read,
    /// Writes only; what was there before does not matter or keeps its bytes.
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

/// The part of the device that executes a step: what a barrier has to name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Fills, updates and copies.
    Transfer,
    /// Dispatches.
    ComputeShader,
}

/// One byte range that a step touches, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    /// The buffer.
    pub slot: Slot,
    /// Bytes relative to the start of the binding.
    pub range: Range<u64>,
    /// Reads, writes or both.
    pub access: Access,
}

/// Saturates: a range that passes 2^64 lies outside every buffer, and is refused as such.
pub(crate) fn span(offset: u64, size: u64) -> Range<u64> {
    offset..offset.saturating_add(size)
}
