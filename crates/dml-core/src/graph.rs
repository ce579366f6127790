//! Graphs: operators whose outputs are other operators' inputs, as DML_GRAPH_DESC has them.
//!
//! ```text
//! GraphDesc  --validate_graph(level)-->  ValidatedGraph  --(dml-ops) compile_graph-->  Plan
//! ```

mod build;
mod check;
mod edges;
mod label;
mod order;
#[cfg(test)]
mod tests;
mod validated;

use std::sync::Arc;

use crate::schema::operator::AbstractOperator;
use crate::types::FeatureLevel;

pub use build::{GraphBuilder, GraphValue};
pub use check::{validate_graph, validate_known_graph};
pub use validated::{GraphNode, NodeWork, Source, ValidatedGraph};

/// The level that introduced graphs.
pub const GRAPHS: FeatureLevel = FeatureLevel::V2_1;

/// A graph may have so many inputs.
pub(crate) const MAX_INPUTS: u32 = 1 << 16;

/// The level that introduced constant nodes.
pub(crate) const CONSTANT_NODES: FeatureLevel = FeatureLevel::V6_2;

/// DML_GRAPH_DESC: nodes, and the edges between them.
///
/// The tensors at both ends of an edge have one data type, and the one that is read needs no more bytes
/// than the one that is written has. Sizes and strides are each end's own: they say how the same bytes
/// are seen. [`GraphBuilder`] makes one from operators.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GraphDesc {
    /// How many inputs are bound.
    pub input_count: u32,
    /// How many outputs are bound.
    pub output_count: u32,
    /// The operators and constants, in any order.
    pub nodes: Vec<NodeDesc>,
    /// From the graph's inputs to nodes.
    pub input_edges: Vec<InputEdge>,
    /// From nodes to the graph's outputs, of which each has one.
    pub output_edges: Vec<OutputEdge>,
    /// From nodes to nodes.
    pub intermediate_edges: Vec<IntermediateEdge>,
}

/// DML_GRAPH_NODE_DESC.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeDesc {
    /// For messages; may be empty.
    pub name: Arc<str>,
    /// What the node is.
    pub kind: NodeKind,
}

/// What a node is.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeKind {
    /// DML_OPERATOR_GRAPH_NODE_DESC.
    Operator(AbstractOperator),
    /// DML_CONSTANT_DATA_GRAPH_NODE_DESC: bytes that are known when the graph is compiled, its only
    /// output.
    Constant(Arc<[u8]>),
}

/// DML_INPUT_GRAPH_EDGE_DESC.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InputEdge {
    /// The graph's input.
    pub graph_input_index: u32,
    /// The node that reads it, by its place in [`GraphDesc::nodes`].
    pub to_node_index: u32,
    /// Which of the node's inputs, in its binding order.
    pub to_node_input_index: u32,
    /// For messages; may be empty.
    pub name: String,
}

/// DML_OUTPUT_GRAPH_EDGE_DESC.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutputEdge {
    /// The node that writes it, by its place in [`GraphDesc::nodes`].
    pub from_node_index: u32,
    /// Which of the node's outputs, in its binding order.
    pub from_node_output_index: u32,
    /// The graph's output.
    pub graph_output_index: u32,
    /// For messages; may be empty.
    pub name: String,
}

/// DML_INTERMEDIATE_GRAPH_EDGE_DESC.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IntermediateEdge {
    /// The node that writes, by its place in [`GraphDesc::nodes`].
    pub from_node_index: u32,
    /// Which of its outputs, in its binding order.
    pub from_node_output_index: u32,
    /// The node that reads.
    pub to_node_index: u32,
    /// Which of its inputs, in its binding order.
    pub to_node_input_index: u32,
    /// For messages; may be empty.
    pub name: String,
}
