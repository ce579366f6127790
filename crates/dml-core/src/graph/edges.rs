//! The edges of a graph: the sources of each node's inputs and of the graph's outputs.

use super::validated::Source;
use super::{GraphDesc, NodeDesc, NodeKind};
use crate::schema::FieldKind;
use crate::types::InvalidField;

/// The node that an edge leads to, and the index of its input.
pub(super) type Destination = (usize, usize);

/// The two ends of an edge into a node, and the edge's name in messages.
pub(super) struct Edge {
    pub(super) label: String,
    pub(super) from: Source,
    pub(super) to: Destination,
}

/// The edges of a graph, with checked indices.
#[derive(Default)]
pub(super) struct Edges {
    /// Edges into nodes.
    pub(super) into_nodes: Vec<Edge>,
    /// The edge and the source of each output of the graph.
    pub(super) outputs: Vec<Option<(String, Source)>>,
}

/// The name of an element of one of the graph's arrays in messages, followed by its own name if it has one.
pub(super) fn label(array: &str, index: usize, name: &str) -> String {
    let name = if name.is_empty() { String::new() } else { format!(" ({name})") };
    format!("{array}[{index}]{name}")
}

/// Reads every edge.
///
/// # Errors
/// An index is out of range, or an output of the graph has a second edge.
pub(super) fn read(graph: &GraphDesc) -> Result<Edges, InvalidField> {
    let mut edges = Edges { outputs: vec![None; graph.output_count as usize], ..Edges::default() };
    for (index, edge) in graph.input_edges.iter().enumerate() {
        let label = label("InputEdges", index, &edge.name);
        let path = |member: &str| format!("{label}.{member}");
        let from = below(
            &path("GraphInputIndex"),
            edge.graph_input_index,
            graph.input_count,
            "input of the graph",
        )?;
        let node = node(graph, &path("ToNodeIndex"), edge.to_node_index)?;
        let input = input(graph, node, &path("ToNodeInputIndex"), edge.to_node_input_index)?;
        edges.into_nodes.push(Edge { label, from: Source::Input(from), to: (node, input) });
    }
    for (index, edge) in graph.intermediate_edges.iter().enumerate() {
        let label = label("IntermediateEdges", index, &edge.name);
        let path = |member: &str| format!("{label}.{member}");
        let from = node(graph, &path("FromNodeIndex"), edge.from_node_index)?;
        let output =
            output(graph, from, &path("FromNodeOutputIndex"), edge.from_node_output_index)?;
        let to = node(graph, &path("ToNodeIndex"), edge.to_node_index)?;
        let input = input(graph, to, &path("ToNodeInputIndex"), edge.to_node_input_index)?;
        edges.into_nodes.push(Edge {
            label,
            from: Source::Node { node: from, output },
            to: (to, input),
        });
    }
    for (index, edge) in graph.output_edges.iter().enumerate() {
        let label = label("OutputEdges", index, &edge.name);
        let path = |member: &str| format!("{label}.{member}");
        let node = node(graph, &path("FromNodeIndex"), edge.from_node_index)?;
        let output =
            output(graph, node, &path("FromNodeOutputIndex"), edge.from_node_output_index)?;
        let to = below(
            &path("GraphOutputIndex"),
            edge.graph_output_index,
            graph.output_count,
            "output of the graph",
        )?;
        let source = Source::Node { node, output };
        if let Some((first, _)) = edges.outputs[to].replace((label.clone(), source)) {
            let problem = format!("has {first} already");
            let accepted = "an output of the graph without an edge";
            return Err(InvalidField::new(path("GraphOutputIndex"), to, problem, accepted));
        }
    }
    Ok(edges)
}

fn node(graph: &GraphDesc, path: &str, index: u32) -> Result<usize, InvalidField> {
    below(path, index, u32::try_from(graph.nodes.len()).unwrap_or(u32::MAX), "node")
}

/// The number of a node's bindings of one kind.
fn bindings(node: &NodeDesc, kind: FieldKind) -> u32 {
    match (&node.kind, kind) {
        (NodeKind::Operator(operator), _) => {
            u32::try_from(operator.bindings(kind).count()).unwrap_or(u32::MAX)
        }
        (NodeKind::Constant(_), FieldKind::Output) => 1,
        (NodeKind::Constant(_), _) => 0,
    }
}

fn input(graph: &GraphDesc, node: usize, path: &str, index: u32) -> Result<usize, InvalidField> {
    let count = bindings(&graph.nodes[node], FieldKind::Input);
    below(path, index, count, &format!("input of Nodes[{node}]"))
}

fn output(graph: &GraphDesc, node: usize, path: &str, index: u32) -> Result<usize, InvalidField> {
    let count = bindings(&graph.nodes[node], FieldKind::Output);
    below(path, index, count, &format!("output of Nodes[{node}]"))
}

fn below(path: &str, index: u32, count: u32, what: &str) -> Result<usize, InvalidField> {
    if index < count {
        return Ok(index as usize);
    }
    let accepted = match count {
        0 => format!("none; there is no {what}"),
        _ => format!("0 to {}", count - 1),
    };
    Err(InvalidField::new(path, index, format!("is no {what}"), accepted))
}
