//! The tensor IR: the computations of operators, before kernels are chosen.
//!
//! A family records a [`Program`]: buffers, and nodes that read and write views of them. A graph is one
//! program too: its operators' programs in sequence. [`optimize`] fuses nodes of any origin. Nodes know
//! nothing of dispatches, boxes, tiles or a device's limits; [`crate::schedule`] makes a plan of a program.
//!
//! | Node | Says |
//! |---|---|
//! | [`Map`] | a program of functions for each coordinate of a space; its reads and writes may be displaced by values that it computes (gather, scatter) |
//! | [`Reduce`] | rows of a space: a program before, what joins a row's elements, a program after; a row's length may be data |
//! | [`RowGroup`] | reductions of the same rows, and the Maps of these rows: softmax, norms |
//! | [`Attention`] | scores of queries and keys, their softmax, and the values that it weighs, where a kernel can compute all of it |
//! | [`Scan`] | each element of a row joined with all before it |
//! | [`Sort`] | the least numbers of a row, in order |
//! | [`Node::Contract`] | sums of products |
//! | [`Node::Move`] | elements as they are |
//! | [`Fill`] | one value everywhere |
//! | [`Band`] | one value in a band of diagonals, zeros or an input around it |
//!
//! **The order of additions is the node's**, by sizes alone: a row is all reduced axes, flattened in the order of the
//! descriptor, and so are the depths of products. A Reduce over several dimensions that do not follow each other in
//! memory is still added up in an order that depends on strides; [`Node::ContractWhole`] leaves its order to the device.

mod attention;
mod buffer;
mod computation;
mod contraction;
mod cost;
mod node;
mod numbers;
pub(crate) mod optimize;
mod ordered;
mod program;
mod recorder;
mod reduction;
pub(crate) mod space;
#[cfg(test)]
pub(crate) mod tests;
mod text;

pub(crate) use attention::{Along, Attention, Formulas, Input};
pub(crate) use buffer::{Buffer, Buffers, Content, Stage};
pub(crate) use computation::{Computation, low_and_high, with_parameters_from};
pub(crate) use contraction::{
    BufferPosition, Dimension, Matrices, OPERANDS, SUMS, Sums, WholeMatrices,
};
pub(crate) use node::{
    AttentionGroup, Band, Fill, Map, Node, Origin, Recorded, Reduce, RowGroup, RowOrder, Sources,
    Stored,
};
pub(crate) use numbers::{Bytes, Numbers, ZeroPoints};
pub(crate) use ordered::{Scan, Sort};
pub(crate) use program::Binding;
pub use program::Program;
pub(crate) use recorder::Recorder;
pub(crate) use reduction::Reduction;
