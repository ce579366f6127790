//! Graphs as in DML_GRAPH_DESC: operators whose outputs are other operators' inputs.
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

/// The most inputs of a graph.
pub(crate) const MAX_INPUTS: u32 = 1 << 16;

/// The level that introduced constant nodes.
pub(crate) const CONSTANT_NODES: FeatureLevel = FeatureLevel::V6_2;

/// DML_GRAPH_DESC: nodes, and the edges between them.
///
/// The tensors at both ends of an edge have the same data type, and the tensor that is read needs at most the
/// bytes of the tensor that is written. Sizes and strides may differ: each end interprets the same bytes with
/// its own. [`GraphBuilder`] makes a graph from operators.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GraphDesc {
    /// The number of inputs to bind.
    pub input_count: u32,
    /// The number of outputs to bind.
    pub output_count: u32,
    /// The operators and constants, in any order.
    pub nodes: Vec<NodeDesc>,
    /// Edges from the graph's inputs to nodes.
    pub input_edges: Vec<InputEdge>,
    /// Edges from nodes to the graph's outputs, one for each output.
    pub output_edges: Vec<OutputEdge>,
    /// Edges from nodes to nodes.
    pub intermediate_edges: Vec<IntermediateEdge>,
}

/// DML_GRAPH_NODE_DESC.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeDesc {
    /// For messages; may be empty.
    pub name: Arc<str>,
    /// The operator or the constant.
    pub kind: NodeKind,
}

/// The kind of a node, with its data.
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
    /// The node that reads the input, by its index in [`GraphDesc::nodes`].
    pub to_node_index: u32,
    /// The input of that node, in its binding order.
    pub to_node_input_index: u32,
    /// For messages; may be empty.
    pub name: String,
}

/// DML_OUTPUT_GRAPH_EDGE_DESC.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutputEdge {
    /// The node that writes the output, by its index in [`GraphDesc::nodes`].
    pub from_node_index: u32,
    /// The output of that node, in its binding order.
    pub from_node_output_index: u32,
    /// The graph's output.
    pub graph_output_index: u32,
    /// For messages; may be empty.
    pub name: String,
}

/// DML_INTERMEDIATE_GRAPH_EDGE_DESC.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IntermediateEdge {
    /// The node that writes the value, by its index in [`GraphDesc::nodes`].
    pub from_node_index: u32,
    /// The output of that node, in its binding order.
    pub from_node_output_index: u32,
    /// The node that reads the value, by its index in [`GraphDesc::nodes`].
    pub to_node_index: u32,
    /// The input of that node, in its binding order.
    pub to_node_input_index: u32,
    /// For messages; may be empty.
    pub name: String,
}
