//! DirectML's graphs, read from the caller's memory.

use std::ffi::c_char;

use dml::GraphDesc;
use dml::core::graph::{InputEdge, IntermediateEdge, NodeDesc, NodeKind, OutputEdge};
use dml::core::{InvalidField, MAX_ELEMENT_COUNT};

use super::{MAX_COUNT, operator};
use crate::boundary::{Failure, Result};
use crate::memory::{read, read_array, read_bytes, text};
use crate::types::{
    DML_CONSTANT_DATA_GRAPH_NODE_DESC, DML_GRAPH_DESC, DML_GRAPH_EDGE_DESC, DML_GRAPH_NODE_DESC,
    DML_INPUT_GRAPH_EDGE_DESC, DML_INTERMEDIATE_GRAPH_EDGE_DESC, DML_OPERATOR_GRAPH_NODE_DESC,
    DML_OUTPUT_GRAPH_EDGE_DESC,
};

/// DML_GRAPH_NODE_TYPE_OPERATOR.
pub(crate) const OPERATOR: u32 = 1;
/// DML_GRAPH_NODE_TYPE_CONSTANT.
pub(crate) const CONSTANT: u32 = 2;
/// The most bytes of a constant. No tensor has more; a larger constant is not read.
pub(crate) const MAX_DATA_SIZE: u64 = MAX_ELEMENT_COUNT * 8;

/// # Safety
///
/// `desc` is null, or it and every pointer that it leads to are what DirectML's documentation says, or
/// null; each `Operator` is null or a `DML_OPERATOR_DESC` of which the same holds.
pub(crate) unsafe fn graph(desc: *const DML_GRAPH_DESC) -> Result<GraphDesc> {
    // SAFETY: the caller's promise.
    let desc = unsafe { read(desc, "DML_GRAPH_DESC") }?;
    // SAFETY: the caller's promise.
    let nodes = unsafe { nodes(desc.Nodes, desc.NodeCount) }?;
    let (list, count) = (desc.InputEdges, desc.InputEdgeCount);
    // SAFETY: the caller's promise.
    let input_edges = unsafe { edges::<DML_INPUT_GRAPH_EDGE_DESC>(list, count) }?;
    let (list, count) = (desc.OutputEdges, desc.OutputEdgeCount);
    // SAFETY: the caller's promise.
    let output_edges = unsafe { edges::<DML_OUTPUT_GRAPH_EDGE_DESC>(list, count) }?;
    let (list, count) = (desc.IntermediateEdges, desc.IntermediateEdgeCount);
    // SAFETY: the caller's promise.
    let intermediate_edges = unsafe { edges::<DML_INTERMEDIATE_GRAPH_EDGE_DESC>(list, count) }?;
    Ok(GraphDesc {
        input_count: desc.InputCount,
        output_count: desc.OutputCount,
        nodes,
        input_edges,
        output_edges,
        intermediate_edges,
    })
}

/// # Safety
///
/// As [`graph`].
unsafe fn nodes(list: *const DML_GRAPH_NODE_DESC, count: u32) -> Result<Vec<NodeDesc>> {
    // SAFETY: the caller's promise.
    let list = unsafe { read_array(list, count, MAX_COUNT, "graph: Nodes") }?;
    // SAFETY: the caller's promise.
    let read = list.iter().enumerate().map(|(at, it)| unsafe { node(it, &format!("Nodes[{at}]")) });
    read.collect()
}

/// # Safety
///
/// As [`graph`].
unsafe fn node(node: &DML_GRAPH_NODE_DESC, path: &str) -> Result<NodeDesc> {
    let desc = format!("graph: {path}.Desc");
    match node.Type {
        OPERATOR => {
            // SAFETY: the caller's promise, for this type.
            let node = unsafe { read(node.Desc.cast::<DML_OPERATOR_GRAPH_NODE_DESC>(), &desc) }?;
            // SAFETY: the caller's promise.
            let name = unsafe { name(node.Name, path) }?;
            // SAFETY: the caller's promise.
            let operator = unsafe { operator(node.Operator) };
            let operator =
                operator.map_err(|it| it.inside(format_args!("graph: {path}.Operator")))?;
            Ok(NodeDesc { name: name.into(), kind: NodeKind::Operator(operator) })
        }
        CONSTANT => {
            let at = node.Desc.cast::<DML_CONSTANT_DATA_GRAPH_NODE_DESC>();
            // SAFETY: the caller's promise, for this type.
            let node = unsafe { read(at, &desc) }?;
            // SAFETY: the caller's promise.
            let name = unsafe { name(node.Name, path) }?;
            let (data, size) = (node.Data.cast(), node.DataSize);
            let path = format!("graph: {path}.Data");
            // SAFETY: the caller's promise.
            let bytes = unsafe { read_bytes(data, size, MAX_DATA_SIZE, &path) }?;
            Ok(NodeDesc { name: name.into(), kind: NodeKind::Constant(bytes) })
        }
        other => {
            let accepted = format!("{OPERATOR} (OPERATOR), {CONSTANT} (CONSTANT)");
            Err(refused(path, "Type", other, "is not a type of node", accepted))
        }
    }
}

/// A struct of one of the three kinds of edges.
///
/// An array of a graph has edges of one kind only, although each states its kind.
trait EdgeDesc: Copy {
    /// The decoded edge.
    type Edge;
    /// The member of DML_GRAPH_DESC that holds edges of this kind.
    const ARRAY: &'static str;
    /// The DML_GRAPH_EDGE_TYPE, and its name.
    const TYPE: (u32, &'static str);
    /// The member `Name`.
    fn name(&self) -> *const c_char;
    /// The decoded edge, with the decoded `name`.
    fn named(&self, name: String) -> Self::Edge;
}

impl EdgeDesc for DML_INPUT_GRAPH_EDGE_DESC {
    type Edge = InputEdge;
    const ARRAY: &'static str = "InputEdges";
    const TYPE: (u32, &'static str) = (1, "INPUT");

    fn name(&self) -> *const c_char {
        self.Name
    }

    fn named(&self, name: String) -> InputEdge {
        InputEdge {
            graph_input_index: self.GraphInputIndex,
            to_node_index: self.ToNodeIndex,
            to_node_input_index: self.ToNodeInputIndex,
            name,
        }
    }
}

impl EdgeDesc for DML_OUTPUT_GRAPH_EDGE_DESC {
    type Edge = OutputEdge;
    const ARRAY: &'static str = "OutputEdges";
    const TYPE: (u32, &'static str) = (2, "OUTPUT");

    fn name(&self) -> *const c_char {
        self.Name
    }

    fn named(&self, name: String) -> OutputEdge {
        OutputEdge {
            from_node_index: self.FromNodeIndex,
            from_node_output_index: self.FromNodeOutputIndex,
            graph_output_index: self.GraphOutputIndex,
            name,
        }
    }
}

impl EdgeDesc for DML_INTERMEDIATE_GRAPH_EDGE_DESC {
    type Edge = IntermediateEdge;
    const ARRAY: &'static str = "IntermediateEdges";
    const TYPE: (u32, &'static str) = (3, "INTERMEDIATE");

    fn name(&self) -> *const c_char {
        self.Name
    }

    fn named(&self, name: String) -> IntermediateEdge {
        IntermediateEdge {
            from_node_index: self.FromNodeIndex,
            from_node_output_index: self.FromNodeOutputIndex,
            to_node_index: self.ToNodeIndex,
            to_node_input_index: self.ToNodeInputIndex,
            name,
        }
    }
}

/// # Safety
///
/// As [`graph`]; edges that state the type `D` point to a `D`.
unsafe fn edges<D: EdgeDesc>(list: *const DML_GRAPH_EDGE_DESC, count: u32) -> Result<Vec<D::Edge>> {
    // SAFETY: the caller's promise.
    let list = unsafe { read_array(list, count, MAX_COUNT, &format!("graph: {}", D::ARRAY)) }?;
    let (number, type_name) = D::TYPE;
    let edge = |(at, edge): (usize, &DML_GRAPH_EDGE_DESC)| {
        let path = format!("{}[{at}]", D::ARRAY);
        if edge.Type != number {
            let problem = "is not the type of these edges";
            let accepted = format!("{number} ({type_name})");
            return Err(refused(&path, "Type", edge.Type, problem, accepted));
        }
        // SAFETY: the caller's promise, for this type.
        let desc = unsafe { read(edge.Desc.cast::<D>(), &format!("graph: {path}.Desc")) }?;
        // SAFETY: the caller's promise.
        let name = unsafe { name(desc.name(), &path) }?;
        Ok(desc.named(name))
    };
    list.iter().enumerate().map(edge).collect()
}

/// A name that may be left out.
///
/// # Safety
///
/// `pointer` is null or points to a string that ends with a NUL.
unsafe fn name(pointer: *const c_char, path: &str) -> Result<String> {
    // SAFETY: the caller's promise.
    let Some(name) = (unsafe { text(pointer) }) else { return Ok(String::new()) };
    let utf8 = name.to_str().map(str::to_owned);
    utf8.map_err(|_| {
        let given = format!("\"{}\"", name.to_bytes().escape_ascii());
        refused(path, "Name", given, "is no UTF-8", "UTF-8, or null".to_owned())
    })
}

fn refused(
    path: &str,
    member: &str,
    value: impl ToString,
    problem: &str,
    accepted: String,
) -> Failure {
    let path = format!("{path}.{member}");
    let (value, problem) = (value.to_string(), problem.to_owned());
    let field = InvalidField { path, value, problem, accepted };
    dml::core::Error::InvalidGraph(field).into()
}

#[cfg(test)]
mod tests;
