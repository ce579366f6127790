//! Buffers that a program's nodes read and write.

use dml_spirv::ElementWidth;
use smallvec::SmallVec;

/// Buffers in order. As many as most nodes use take no allocation: nodes are asked for theirs all the time.
pub(crate) type Buffers = SmallVec<[Buffer; 8]>;

/// A buffer of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Buffer {
    /// The input with this number, in binding order.
    Input(u32),
    /// The output with this number, in binding order.
    Output(u32),
    /// A buffer that the program declares: an index into [`super::Program::locals`].
    Local(usize),
}

/// When the contents of a buffer are available.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// From compilation on: constants.
    Compilation,
    /// From initialization on: inputs that are OWNED_BY_DML, and buffers computed from these alone.
    Initialization,
    /// During an execution.
    Execution,
}

impl Stage {
    /// When to compute a buffer from sources of these stages: at initialization where all of them are
    /// available by then, else in every execution. A buffer that depends on constants alone is computed in
    /// every execution, too.
    pub(crate) fn of_derived(sources: impl IntoIterator<Item = Self>) -> Self {
        match sources.into_iter().max() {
            Some(Self::Initialization) => Self::Initialization,
            _ => Self::Execution,
        }
    }
}

/// The contents of a buffer that a program declares. Several nodes may write it, in their order: continued
/// sums, and parts of one tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Constant bytes, with the alignment that they need.
    Constant { bytes: Vec<u8>, alignment: u64 },
    /// Written by nodes.
    Computed {
        /// The width of the elements that `count` counts; views may have other widths.
        width: ElementWidth,
        /// The number of elements.
        count: u64,
        stage: Stage,
    },
}

impl Content {
    /// When the contents are available.
    pub(crate) fn stage(&self) -> Stage {
        match self {
            Self::Constant { .. } => Stage::Compilation,
            Self::Computed { stage, .. } => *stage,
        }
    }

    /// The size of the buffer in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::Constant { bytes, .. } => bytes.len() as u64,
            Self::Computed { width, count, .. } => count.saturating_mul(width.bytes().into()),
        }
    }
}
