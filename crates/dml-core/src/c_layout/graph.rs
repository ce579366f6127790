//! The structs of graphs.

use std::ffi::{c_char, c_void};

use super::DML_OPERATOR_DESC;

/// 1 is OPERATOR, 2 is CONSTANT.
pub type DML_GRAPH_NODE_TYPE = u32;
/// 1 is INPUT, 2 is OUTPUT, 3 is INTERMEDIATE.
pub type DML_GRAPH_EDGE_TYPE = u32;

/// Nodes and edges; [`crate::GraphDesc`] states what they mean.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DML_GRAPH_DESC {
    /// How many inputs are bound.
    pub InputCount: u32,
    /// How many outputs are bound.
    pub OutputCount: u32,
    /// The number of elements of `Nodes`.
    pub NodeCount: u32,
    /// The operators and constants.
    pub Nodes: *const DML_GRAPH_NODE_DESC,
    /// The number of elements of `InputEdges`.
    pub InputEdgeCount: u32,
    /// From the graph's inputs to nodes: each of the type INPUT. May be null where there is none.
    pub InputEdges: *const DML_GRAPH_EDGE_DESC,
    /// The number of elements of `OutputEdges`.
    pub OutputEdgeCount: u32,
    /// From nodes to the graph's outputs: each of the type OUTPUT.
    pub OutputEdges: *const DML_GRAPH_EDGE_DESC,
    /// The number of elements of `IntermediateEdges`.
    pub IntermediateEdgeCount: u32,
    /// From nodes to nodes: each of the type INTERMEDIATE. May be null where there is none.
    pub IntermediateEdges: *const DML_GRAPH_EDGE_DESC,
}

/// A node of some type.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DML_GRAPH_NODE_DESC {
    /// Which type.
    pub Type: DML_GRAPH_NODE_TYPE,
    /// The descriptor of that type: a [`DML_OPERATOR_GRAPH_NODE_DESC`] or a
    /// [`DML_CONSTANT_DATA_GRAPH_NODE_DESC`].
    pub Desc: *const c_void,
}

/// A node that executes an operator.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DML_OPERATOR_GRAPH_NODE_DESC {
    /// The operator's descriptor, where DirectML has an object that was made from one.
    pub Operator: *const DML_OPERATOR_DESC,
    /// UTF-8, for messages; may be null.
    pub Name: *const c_char,
}

/// A node that has bytes as its only output.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DML_CONSTANT_DATA_GRAPH_NODE_DESC {
    /// The bytes.
    pub Data: *const c_void,
    /// How many.
    pub DataSize: u64,
    /// UTF-8, for messages; may be null.
    pub Name: *const c_char,
}

/// An edge of some type.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DML_GRAPH_EDGE_DESC {
    /// Which type.
    pub Type: DML_GRAPH_EDGE_TYPE,
    /// The descriptor of that type, such as a [`DML_INPUT_GRAPH_EDGE_DESC`].
    pub Desc: *const c_void,
}

/// An edge from an input of the graph to a node.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DML_INPUT_GRAPH_EDGE_DESC {
    /// The graph's input.
    pub GraphInputIndex: u32,
    /// The node that reads it.
    pub ToNodeIndex: u32,
    /// Which of the node's inputs, in its binding order.
    pub ToNodeInputIndex: u32,
    /// UTF-8, for messages; may be null.
    pub Name: *const c_char,
}

/// An edge from a node to an output of the graph.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DML_OUTPUT_GRAPH_EDGE_DESC {
    /// The node that writes it.
    pub FromNodeIndex: u32,
    /// Which of the node's outputs, in its binding order.
    pub FromNodeOutputIndex: u32,
    /// The graph's output.
    pub GraphOutputIndex: u32,
    /// UTF-8, for messages; may be null.
    pub Name: *const c_char,
}

/// An edge from a node to another one.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DML_INTERMEDIATE_GRAPH_EDGE_DESC {
    /// The node that writes.
    pub FromNodeIndex: u32,
    /// Which of its outputs, in its binding order.
    pub FromNodeOutputIndex: u32,
    /// The node that reads.
    pub ToNodeIndex: u32,
    /// Which of its inputs, in its binding order.
    pub ToNodeInputIndex: u32,
    /// UTF-8, for messages; may be null.
    pub Name: *const c_char,
}
