//! The nodes of a program.

use dml_core::TensorLayout;
use dml_spirv::ElementWidth;

use super::buffer::Buffer;
use super::computation::Computation;
use super::contraction::{SUMS, Sums, WholeMatrices};
use super::reduction::Reduction;
use super::space::IterationSpace;

/// One computation. It reads buffers that earlier nodes wrote.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    Map(Map),
    Reduce(Reduce),
    /// Sums of products. No two of them write the same element.
    Contract(Vec<Sums>),
    /// Sums of products by cooperative matrices, which add in an order of the device's.
    ContractWhole(WholeMatrices),
    /// Copies the one input of a space.
    Move(IterationSpace),
    Fill(Fill),
    Band(Band),
}

impl Node {
    /// Whether the node writes `buffer`.
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

    /// The iteration space, of nodes that have one.
    pub(crate) fn space(&self) -> Option<&IterationSpace> {
        match self {
            Self::Map(Map { space, .. })
            | Self::Reduce(Reduce { space, .. })
            | Self::Move(space) => Some(space),
            _ => None,
        }
    }
}

/// A program of functions, applied at every coordinate of a space.
#[derive(Clone, Debug)]
pub(crate) struct Map {
    pub(crate) space: IterationSpace,
    pub(crate) computation: Computation,
}

/// A reduction of rows: of the dimensions along which the output's stride is 0.
#[derive(Clone, Debug)]
pub(crate) struct Reduce {
    pub(crate) space: IterationSpace,
    pub(crate) reduction: Reduction,
    /// Where the length of a row is data: the number of the input that says it. Rows are the last two dimensions
    /// of the space then, grids that have as many rows and columns as that element says: of 64 bits, the columns in
    /// the low word, neither more than the space has.
    pub(crate) grids: Option<usize>,
}

/// Writes one value to every element of the first output.
#[derive(Clone, Debug)]
pub(crate) struct Fill {
    pub(crate) tensor: TensorLayout,
    pub(crate) width: ElementWidth,
    /// The bits of an element, with zeros above.
    pub(crate) value: u64,
}

/// Writes the value where `begin <= x - y < end`, or, where `begin` is above `end`, everywhere but where
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
