//! The nodes of a program.

use dml_core::TensorLayout;
use dml_core::plan::Plan;
use dml_spirv::ElementWidth;

use super::computation::Computation;
use super::contraction::{Sums, WholeMatrices};
use super::reduction::Reduction;
use super::space::IterationSpace;

/// One thing that is computed, of what is there before it.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    Map(Map),
    Reduce(Reduce),
    /// Sums of products, of which no two have an element in common.
    Contract(Vec<Sums>),
    /// Sums of products in an order that is the device's.
    ContractWhole(WholeMatrices),
    /// The elements of the one input of a space, as they are.
    Move(IterationSpace),
    Fill(Fill),
    /// All of a program, by a family that makes its own steps.
    Opaque(Box<Plan>),
}

impl Node {
    /// The space that it is applied to, where it is one.
    pub(crate) fn space(&self) -> Option<&IterationSpace> {
        match self {
            Self::Map(Map { space, .. })
            | Self::Reduce(Reduce { space, .. })
            | Self::Move(space) => Some(space),
            _ => None,
        }
    }
}

/// What is computed for each coordinate of a space.
#[derive(Clone, Debug)]
pub(crate) struct Map {
    pub(crate) space: IterationSpace,
    pub(crate) computation: Computation,
}

/// Rows, which are the dimensions along which the output stands still.
#[derive(Clone, Debug)]
pub(crate) struct Reduce {
    pub(crate) space: IterationSpace,
    pub(crate) reduction: Reduction,
    /// Where the length of a row is data: the number of the input that says it. Rows are the last two dimensions
    /// of the space then, grids that have as many rows and columns as that element says: of 64 bits, the columns in
    /// the low word, neither more than the space has.
    pub(crate) grids: Option<usize>,
}

/// One value in all elements of the first output.
#[derive(Clone, Debug)]
pub(crate) struct Fill {
    pub(crate) tensor: TensorLayout,
    pub(crate) width: ElementWidth,
    /// The bits of an element, with zeros above.
    pub(crate) value: u64,
}
