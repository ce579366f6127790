//! The edges of a graph: the sources of each node's inputs and of the graph's outputs.

use std::fmt;

use super::label::Label;
use super::validated::Source;
use super::{GraphDesc, NodeDesc, NodeKind};
use crate::schema::FieldKind;
use crate::types::InvalidField;

/// The node that an edge leads to, and the index of its input.
pub(super) type Destination = (usize, usize);

/// The two ends of an edge into a node, and how messages name it.
pub(super) struct Edge<'a> {
    pub(super) label: Label<'a>,
    pub(super) from: Source,
    pub(super) to: Destination,
}

/// The edges of a graph, with checked indices.
pub(super) struct Edges<'a> {
    /// The edges into nodes.
    pub(super) into_nodes: Vec<Edge<'a>>,
    /// Where each output of the graph comes from.
    pub(super) outputs: Vec<Option<(Label<'a>, Source)>>,
}

/// A member of an element of one of the graph's arrays, for messages.
#[derive(Clone, Copy)]
struct Member<'a>(Label<'a>, &'static str);

/// Reads every edge.
///
/// # Errors
/// An index that is beyond what there is, and a second edge to the same end.
pub(super) fn read(graph: &GraphDesc) -> Result<Edges<'_>, InvalidField> {
    let into_nodes = Vec::with_capacity(graph.input_edges.len() + graph.intermediate_edges.len());
    let mut edges = Edges { into_nodes, outputs: vec![None; graph.output_count as usize] };
    for (index, edge) in graph.input_edges.iter().enumerate() {
        let label = Label { array: "InputEdges", index, name: &edge.name };
        let path = |member| Member(label, member);
        let from = below(
            path("GraphInputIndex"),
            edge.graph_input_index,
            graph.input_count,
            format_args!("input of the graph"),
        )?;
        let node = node(graph, path("ToNodeIndex"), edge.to_node_index)?;
        let input = input(graph, node, path("ToNodeInputIndex"), edge.to_node_input_index)?;
        edges.into_nodes.push(Edge { label, from: Source::Input(from), to: (node, input) });
    }
    for (index, edge) in graph.intermediate_edges.iter().enumerate() {
        let label = Label { array: "IntermediateEdges", index, name: &edge.name };
        let path = |member| Member(label, member);
        let from = node(graph, path("FromNodeIndex"), edge.from_node_index)?;
        let output = output(graph, from, path("FromNodeOutputIndex"), edge.from_node_output_index)?;
        let to = node(graph, path("ToNodeIndex"), edge.to_node_index)?;
        let input = input(graph, to, path("ToNodeInputIndex"), edge.to_node_input_index)?;
        edges.into_nodes.push(Edge {
            label,
            from: Source::Node { node: from, output },
            to: (to, input),
        });
    }
    for (index, edge) in graph.output_edges.iter().enumerate() {
        let label = Label { array: "OutputEdges", index, name: &edge.name };
        let path = |member| Member(label, member);
        let node = node(graph, path("FromNodeIndex"), edge.from_node_index)?;
        let output = output(graph, node, path("FromNodeOutputIndex"), edge.from_node_output_index)?;
        let to = below(
            path("GraphOutputIndex"),
            edge.graph_output_index,
            graph.output_count,
            format_args!("output of the graph"),
        )?;
        let source = Source::Node { node, output };
        if let Some((first, _)) = edges.outputs[to].replace((label, source)) {
            let problem = format!("has {first} already");
            let accepted = "an output of the graph without an edge";
            return Err(InvalidField::new(path("GraphOutputIndex").text(), to, problem, accepted));
        }
    }
    Ok(edges)
}

impl Member<'_> {
    fn text(self) -> String {
        format!("{}.{}", self.0, self.1)
    }
}

fn node(graph: &GraphDesc, path: Member<'_>, index: u32) -> Result<usize, InvalidField> {
    below(path, index, u32::try_from(graph.nodes.len()).unwrap_or(u32::MAX), format_args!("node"))
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

fn input(
    graph: &GraphDesc,
    node: usize,
    path: Member<'_>,
    index: u32,
) -> Result<usize, InvalidField> {
    let count = bindings(&graph.nodes[node], FieldKind::Input);
    below(path, index, count, format_args!("input of Nodes[{node}]"))
}

fn output(
    graph: &GraphDesc,
    node: usize,
    path: Member<'_>,
    index: u32,
) -> Result<usize, InvalidField> {
    let count = bindings(&graph.nodes[node], FieldKind::Output);
    below(path, index, count, format_args!("output of Nodes[{node}]"))
}

fn below(
    path: Member<'_>,
    index: u32,
    count: u32,
    what: fmt::Arguments<'_>,
) -> Result<usize, InvalidField> {
    if index < count {
        return Ok(index as usize);
    }
    let what = what.to_string();
    let accepted = match count {
        0 => format!("none; there is no {what}"),
        _ => format!("0 to {}", count - 1),
    };
    let article = if what.starts_with(['i', 'o']) { "an" } else { "a" };
    Err(InvalidField::new(path.text(), index, format!("is not {article} {what}"), accepted))
}
