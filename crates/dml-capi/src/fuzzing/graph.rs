//! Graphs as a C program fills them.

use std::ffi::c_char;
use std::ptr;

use dml::GraphDesc;
use dml::core::graph::{NodeDesc, NodeKind};

use super::{RoundTrip, Writer, with_true_counts};
use crate::decode::{self, CONSTANT, MAX_COUNT, MAX_DATA_SIZE, OPERATOR};
use crate::types::{
    DML_CONSTANT_DATA_GRAPH_NODE_DESC, DML_GRAPH_DESC, DML_GRAPH_EDGE_DESC, DML_GRAPH_NODE_DESC,
    DML_INPUT_GRAPH_EDGE_DESC, DML_INTERMEDIATE_GRAPH_EDGE_DESC, DML_OPERATOR_GRAPH_NODE_DESC,
    DML_OUTPUT_GRAPH_EDGE_DESC,
};

/// Writes `graph`, whose names have no NUL, as DirectML's structs and reads them, like
/// [`super::through_c`].
pub fn graph_through_c(
    graph: &GraphDesc,
    damage: bool,
    choose: &mut dyn FnMut(u32) -> u32,
) -> RoundTrip<GraphDesc> {
    let mut written = graph.clone();
    for node in &mut written.nodes {
        if let NodeKind::Operator(operator) = &mut node.kind {
            *operator = with_true_counts(operator);
        }
    }
    let mut writer = Writer::new(damage, choose);
    let desc = writer.graph(&written);
    // SAFETY: every pointer is null or leads to a block that the writer keeps, at least as long as the
    // counts say that are not refused; each name ends with a NUL.
    let read = unsafe { decode::graph(&raw const desc) };
    RoundTrip::new(written, read, &writer)
}

impl Writer<'_> {
    fn graph(&mut self, graph: &GraphDesc) -> DML_GRAPH_DESC {
        let nodes = graph.nodes.iter().map(|node| self.node(node)).collect();
        let (node_count, nodes) = self.array::<DML_GRAPH_NODE_DESC>(nodes);
        let mut inputs = Vec::new();
        for edge in &graph.input_edges {
            inputs.push(DML_INPUT_GRAPH_EDGE_DESC {
                GraphInputIndex: edge.graph_input_index,
                ToNodeIndex: edge.to_node_index,
                ToNodeInputIndex: edge.to_node_input_index,
                Name: self.name(&edge.name),
            });
        }
        let mut outputs = Vec::new();
        for edge in &graph.output_edges {
            outputs.push(DML_OUTPUT_GRAPH_EDGE_DESC {
                FromNodeIndex: edge.from_node_index,
                FromNodeOutputIndex: edge.from_node_output_index,
                GraphOutputIndex: edge.graph_output_index,
                Name: self.name(&edge.name),
            });
        }
        let mut intermediates = Vec::new();
        for edge in &graph.intermediate_edges {
            intermediates.push(DML_INTERMEDIATE_GRAPH_EDGE_DESC {
                FromNodeIndex: edge.from_node_index,
                FromNodeOutputIndex: edge.from_node_output_index,
                ToNodeIndex: edge.to_node_index,
                ToNodeInputIndex: edge.to_node_input_index,
                Name: self.name(&edge.name),
            });
        }
        let (input_edge_count, input_edges) = self.edges(inputs, 1);
        let (output_edge_count, output_edges) = self.edges(outputs, 2);
        let (intermediate_edge_count, intermediate_edges) = self.edges(intermediates, 3);
        DML_GRAPH_DESC {
            InputCount: graph.input_count,
            OutputCount: graph.output_count,
            NodeCount: node_count,
            Nodes: nodes,
            InputEdgeCount: input_edge_count,
            InputEdges: input_edges,
            OutputEdgeCount: output_edge_count,
            OutputEdges: output_edges,
            IntermediateEdgeCount: intermediate_edge_count,
            IntermediateEdges: intermediate_edges,
        }
    }

    fn node(&mut self, node: &NodeDesc) -> DML_GRAPH_NODE_DESC {
        let name = self.name(&node.name);
        // A damaged type is none: the struct of the other one may be longer.
        match &node.kind {
            NodeKind::Operator(operator) => {
                let operator = self.operator(operator);
                let operator = self.keep(vec![operator]);
                let desc = DML_OPERATOR_GRAPH_NODE_DESC { Operator: operator, Name: name };
                let desc = self.keep(vec![desc]).cast();
                DML_GRAPH_NODE_DESC { Type: self.number(OPERATOR), Desc: desc }
            }
            NodeKind::Constant(bytes) => {
                let data = self.keep(bytes.to_vec()).cast();
                let size = self.data_size(bytes.len() as u64);
                let desc =
                    DML_CONSTANT_DATA_GRAPH_NODE_DESC { Data: data, DataSize: size, Name: name };
                let desc = self.keep(vec![desc]).cast();
                DML_GRAPH_NODE_DESC { Type: self.number(CONSTANT), Desc: desc }
            }
        }
    }

    /// The size, or sometimes one that is too small or too large to be read.
    fn data_size(&mut self, size: u64) -> u64 {
        if !self.strikes() {
            return size;
        }
        [size / 2, MAX_DATA_SIZE + 1, u64::MAX][(self.choose)(3) as usize % 3]
    }

    fn edges<D: 'static>(
        &mut self,
        descs: Vec<D>,
        edge_type: u32,
    ) -> (u32, *const DML_GRAPH_EDGE_DESC) {
        let edge = |desc: D| {
            let desc = self.keep(vec![desc]).cast();
            DML_GRAPH_EDGE_DESC { Type: self.number(edge_type), Desc: desc }
        };
        let edges = descs.into_iter().map(edge).collect();
        self.array(edges)
    }

    fn array<T: 'static>(&mut self, list: Vec<T>) -> (u32, *const T) {
        let count = u32::try_from(list.len()).unwrap_or(u32::MAX);
        (self.count(count, MAX_COUNT), self.keep(list))
    }

    /// A pointer to the name, null if it is empty; sometimes not UTF-8.
    fn name(&mut self, name: &str) -> *const c_char {
        if name.is_empty() {
            return ptr::null();
        }
        let mut bytes = name.as_bytes().to_vec();
        if self.strikes() {
            bytes.push(0xFF);
        }
        bytes.push(0);
        self.keep(bytes).cast()
    }
}
