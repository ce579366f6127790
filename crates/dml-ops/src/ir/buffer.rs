//! What a program's nodes read and write.

use dml_spirv::ElementWidth;

/// Elements that are kept somewhere while a program is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Buffer {
    /// The input with this number, in binding order.
    Input(u32),
    /// The output with this number, in binding order.
    Output(u32),
    /// What the program itself declares, with its number in [`super::Program::locals`].
    Local(usize),
}

/// When something is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// With the plan.
    Compilation,
    /// When an operator is initialized, of inputs that are OWNED_BY_DML; kept for all executions.
    Initialization,
    /// In every execution.
    Execution,
}

impl Stage {
    /// When to make what these alone determine: at initialization where all of them are there, and one of them
    /// not before.
    pub(crate) fn of_derived(sources: impl IntoIterator<Item = Self>) -> Self {
        match sources.into_iter().max() {
            Some(Self::Initialization) => Self::Initialization,
            _ => Self::Execution,
        }
    }
}

/// A buffer that a program declares. It may be written by several nodes, which keep their order: sums that go on,
/// and parts of one tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Local {
    pub(crate) content: Content,
    /// How many nodes were recorded before it.
    pub(crate) declared_after: usize,
}

/// What is in a local buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// These bytes, at a multiple of so many.
    Constant { bytes: Vec<u8>, alignment: u64 },
    /// What nodes write, which is the output with this number.
    Output { number: u32, bytes: u64 },
    /// What nodes write.
    Made {
        /// Of the elements that it is counted in; views may have others.
        width: ElementWidth,
        /// How many elements.
        count: u64,
        stage: Stage,
    },
}

impl Content {
    /// When it is there.
    pub(crate) fn stage(&self) -> Stage {
        match self {
            Self::Constant { .. } => Stage::Compilation,
            Self::Output { .. } => Stage::Execution,
            Self::Made { stage, .. } => *stage,
        }
    }

    /// How large it is.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::Constant { bytes, .. } => bytes.len() as u64,
            Self::Output { bytes, .. } => *bytes,
            Self::Made { width, count, .. } => count.saturating_mul(width.bytes().into()),
        }
    }
}
