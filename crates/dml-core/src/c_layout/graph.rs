//! The structs of graphs.

use std::ffi::{c_char, c_void};

use super::DML_OPERATOR_DESC;

/// 1 is OPERATOR, 2 is CONSTANT.
pub type DML_GRAPH_NODE_TYPE = u32;
/// 1 is INPUT, 2 is OUTPUT, 3 is INTERMEDIATE.
pub type DML_GRAPH_EDGE_TYPE = u32;

/// The nodes and edges of a graph; [`crate::GraphDesc`] states their meaning.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DML_GRAPH_DESC {
    /// The number of inputs to bind.
    pub InputCount: u32,
    /// The number of outputs to bind.
    pub OutputCount: u32,
    /// The number of elements of `Nodes`.
    pub NodeCount: u32,
    /// The operators and constants.
    pub Nodes: *const DML_GRAPH_NODE_DESC,
    /// The number of elements of `InputEdges`.
    pub InputEdgeCount: u32,
    /// Edges of the type INPUT, from the graph's inputs to nodes. May be null if there are none.
    pub InputEdges: *const DML_GRAPH_EDGE_DESC,
    /// The number of elements of `OutputEdges`.
    pub OutputEdgeCount: u32,
    /// Edges of the type OUTPUT, from nodes to the graph's outputs.
    pub OutputEdges: *const DML_GRAPH_EDGE_DESC,
    /// The number of elements of `IntermediateEdges`.
    pub IntermediateEdgeCount: u32,
    /// Edges of the type INTERMEDIATE, from nodes to nodes. May be null if there are none.
    pub IntermediateEdges: *const DML_GRAPH_EDGE_DESC,
}

/// A node of some type.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DML_GRAPH_NODE_DESC {
    /// The type of the node.
    pub Type: DML_GRAPH_NODE_TYPE,
    /// The descriptor of that type: a [`DML_OPERATOR_GRAPH_NODE_DESC`] or a
    /// [`DML_CONSTANT_DATA_GRAPH_NODE_DESC`].
    pub Desc: *const c_void,
}

/// A node that executes an operator.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DML_OPERATOR_GRAPH_NODE_DESC {
    /// The operator's descriptor, in place of DirectML's operator object.
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
    /// The number of bytes.
    pub DataSize: u64,
    /// UTF-8, for messages; may be null.
    pub Name: *const c_char,
}

/// An edge of some type.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DML_GRAPH_EDGE_DESC {
    /// The type of the edge.
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
    /// The index of the node that reads the input.
    pub ToNodeIndex: u32,
    /// The input of that node, in its binding order.
    pub ToNodeInputIndex: u32,
    /// UTF-8, for messages; may be null.
    pub Name: *const c_char,
}

/// An edge from a node to an output of the graph.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DML_OUTPUT_GRAPH_EDGE_DESC {
    /// The index of the node that writes the output.
    pub FromNodeIndex: u32,
    /// The output of that node, in its binding order.
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
    /// The index of the node that writes the value.
    pub FromNodeIndex: u32,
    /// The output of that node, in its binding order.
    pub FromNodeOutputIndex: u32,
    /// The index of the node that reads the value.
    pub ToNodeIndex: u32,
    /// The input of that node, in its binding order.
    pub ToNodeInputIndex: u32,
    /// UTF-8, for messages; may be null.
    pub Name: *const c_char,
}
