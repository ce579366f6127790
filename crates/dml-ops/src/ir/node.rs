//! The nodes of a program.

use dml_core::TensorLayout;
use dml_spirv::ElementWidth;

use super::buffer::Buffer;
use super::computation::Computation;
use super::contraction::{SUMS, Sums, WholeMatrices};
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
    Band(Band),
}

impl Node {
    /// Whether it writes a buffer.
    pub(crate) fn writes(&self, buffer: Buffer) -> bool {
        match self {
            Self::Map(_) | Self::Reduce(_) | Self::Move(_) => {
                self.space().is_some_and(|it| it.output.buffer == Some(buffer))
            }
            Self::Contract(all) => all.iter().any(|it| it.places[SUMS].buffer == buffer),
            Self::ContractWhole(of) => of.operands[SUMS].place.buffer == Some(buffer),
            Self::Fill(_) | Self::Band(_) => buffer == Buffer::Output(0),
        }
    }

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

/// The value where `begin <= x - y < end`, or, where `begin` is above `end`, everywhere but where
/// `end <= x - y < begin`; elsewhere the first input's elements, or zeros where there is no input. Input and output
/// have the same type and sizes, of 2 to 4 dimensions, the last two those of matrices. It is the only node of its
/// program.
#[derive(Clone, Debug)]
pub(crate) struct Band {
    /// The output.
    pub(crate) tensor: TensorLayout,
    pub(crate) has_input: bool,
    pub(crate) begin: i64,
    pub(crate) end: i64,
    /// The bits of an element, with zeros above.
    pub(crate) value: u64,
}
