//! Checks a graph for a device of one feature level.

use std::sync::Arc;

use super::edges::{self, Edge, Edges};
use super::label::Label;
use super::order::order;
use super::validated::{GraphNode, NodeWork, Source, ValidatedGraph, node_label};
use super::{CONSTANT_NODES, GRAPHS, GraphDesc, MAX_INPUTS, NodeKind};
use crate::error::{Error, LevelRefusal};
use crate::plan::{BindingRequirement, BoundAt};
use crate::schema::FieldKind;
use crate::schema::operator::AbstractOperator;
use crate::schema::validated::Validated;
use crate::tensor::{TensorFlags, TensorLayout};
use crate::types::{FeatureLevel, InvalidField};
use crate::validate::{KnownOperators, validate};

/// Checks `graph` for a device that was created at `level`.
///
/// # Errors
/// [`Error::InNode`] if [`validate`] refuses an operator; [`Error::InvalidGraph`] if an edge has an invalid
/// index or an input that already has an edge, if the tensors at its ends do not match, if an input or output
/// has no edge, or if the nodes form a cycle; [`Error::FeatureLevel`] if the level has no graphs.
pub fn validate_graph(graph: &GraphDesc, level: FeatureLevel) -> Result<ValidatedGraph, Error> {
    validate_graph_with(graph, level, &|operator| validate(operator, level).map(Arc::new))
}

/// As [`validate_graph`], with operators that are validated once for several graphs.
///
/// # Errors
/// As [`validate_graph`].
pub fn validate_known_graph(
    graph: &GraphDesc,
    level: FeatureLevel,
    known: &KnownOperators,
) -> Result<ValidatedGraph, Error> {
    validate_graph_with(graph, level, &|operator| known.validate(operator, level))
}

fn validate_graph_with(
    graph: &GraphDesc,
    level: FeatureLevel,
    validate: &dyn Fn(&AbstractOperator) -> Result<Arc<Validated>, Error>,
) -> Result<ValidatedGraph, Error> {
    level_has("GRAPH", GRAPHS, level)?;
    check_counts(graph).map_err(Error::InvalidGraph)?;
    let mut nodes = Vec::with_capacity(graph.nodes.len());
    for (index, node) in graph.nodes.iter().enumerate() {
        let (inputs, name) = (Vec::new(), Arc::clone(&node.name));
        let work = match &node.kind {
            NodeKind::Operator(operator) => validate(operator).map(NodeWork::Operator),
            NodeKind::Constant(bytes) => level_has("CONSTANT", CONSTANT_NODES, level)
                .map(|()| NodeWork::Constant(Arc::clone(bytes))),
        };
        let work = work.map_err(|error| {
            let node = node_label(index, &node.name);
            Error::InNode { node, error: Box::new(error) }
        });
        nodes.push(GraphNode { index, name, work: work?, inputs });
    }
    let edges = edges::read(graph).map_err(Error::InvalidGraph)?;
    connect(&mut nodes, &edges).map_err(Error::InvalidGraph)?;
    let read = |source: &Source| match source {
        Source::Node { node, .. } => Some(*node),
        Source::Input(_) => None,
    };
    let reads: Vec<Vec<usize>> =
        nodes.iter().map(|node| node.inputs.iter().flatten().filter_map(read).collect()).collect();
    let order = order(&reads).map_err(|circle| in_a_circle(&nodes, &circle))?;
    let inputs = inputs(graph, &nodes, &edges).map_err(Error::InvalidGraph)?;
    let outputs = outputs(&nodes, edges.outputs).map_err(Error::InvalidGraph)?;
    Ok(ValidatedGraph { nodes, order, inputs, outputs })
}

/// Checks the counts before memory is allocated for them.
fn check_counts(graph: &GraphDesc) -> Result<(), InvalidField> {
    if graph.input_count > MAX_INPUTS {
        let problem = "is too many";
        let accepted = format!("0 to {MAX_INPUTS}");
        return Err(InvalidField::new("InputCount", graph.input_count, problem, accepted));
    }
    if graph.output_count as usize != graph.output_edges.len() {
        let problem = "is not the number of OutputEdges, of which each output has one";
        let accepted = graph.output_edges.len().to_string();
        return Err(InvalidField::new("OutputCount", graph.output_count, problem, accepted));
    }
    if graph.output_edges.is_empty() {
        let problem = "is not an output: the graph would compute nothing that can be read";
        return Err(InvalidField::new("OutputEdges", "an empty list", problem, "1 edge and more"));
    }
    Ok(())
}

fn level_has(what: &'static str, needs: FeatureLevel, level: FeatureLevel) -> Result<(), Error> {
    if level >= needs {
        return Ok(());
    }
    Err(Error::FeatureLevel(Box::new(LevelRefusal {
        operator: what,
        introduced: needs,
        field: None,
        needs: Some(needs),
        created_at: level,
        allowed: None,
    })))
}

/// Gives every node what its edges bring, and checks that it has all that it needs.
fn connect(nodes: &mut [GraphNode], edges: &Edges<'_>) -> Result<(), InvalidField> {
    for node in &mut *nodes {
        let count =
            node.operator().map_or(0, |operator| operator.tensors(FieldKind::Input).count());
        node.inputs = vec![None; count];
    }
    for edge in &edges.into_nodes {
        check_ends(nodes, edge)?;
        let (node, input) = edge.to;
        if nodes[node].inputs[input].replace(edge.from).is_some() {
            let problem = format!(
                "leads to input {input} of {}, which has another edge",
                nodes[node].label()
            );
            return Err(InvalidField::new(
                edge.label.to_string(),
                "the edge",
                problem,
                "one edge for each input",
            ));
        }
    }
    for node in nodes {
        let Some(operator) = node.operator() else { continue };
        let bound = operator.tensors(FieldKind::Input).zip(&node.inputs);
        if let Some(((path, _), _)) =
            bound.into_iter().find(|((_, it), from)| it.is_some() && from.is_none())
        {
            let (path, problem) = (format!("{}.{path}", node.label()), "has no edge");
            return Err(InvalidField::new(path, "the tensor", problem, "one edge for each input"));
        }
    }
    Ok(())
}

/// Checks that what is read fits what is written.
fn check_ends(nodes: &[GraphNode], edge: &Edge<'_>) -> Result<(), InvalidField> {
    let (to, input) = edge.to;
    let Some(read) = nodes[to].tensor(FieldKind::Input, input) else {
        let problem = format!("leads to input {input} of {}, which is left out", nodes[to].label());
        let accepted = "an input with a tensor";
        return Err(InvalidField::new(edge.label.to_string(), "the edge", problem, accepted));
    };
    let Source::Node { node: from, output } = edge.from else { return Ok(()) };
    if read.flags().contains(TensorFlags::OWNED_BY_DML) && nodes[from].operator().is_some() {
        let path = format!("{}.ToNodeInputIndex", edge.label);
        let problem = "is a tensor that is OWNED_BY_DML, and another operator writes it";
        return Err(InvalidField::new(path, input, problem, "inputs of the graph and constants"));
    }
    let written_bytes = match &nodes[from].work {
        NodeWork::Constant(bytes) => bytes.len() as u64,
        NodeWork::Operator(operator) => {
            let (path, Some(written)) =
                operator.tensors(FieldKind::Output).nth(output).expect("an output of the node")
            else {
                let problem = format!(
                    "begins at output {output} of {}, which is left out",
                    nodes[from].label()
                );
                return Err(InvalidField::new(
                    edge.label.to_string(),
                    "the edge",
                    problem,
                    "an output with a tensor",
                ));
            };
            if read.data_type() != written.data_type() {
                let problem =
                    format!("is read from {}.{path}, which is another type", nodes[from].label());
                let accepted = written.data_type().to_string();
                return Err(InvalidField::new(
                    format!("{}.DataType", edge.label),
                    read.data_type(),
                    problem,
                    accepted,
                ));
            }
            written.total_size()
        }
    };
    if read.minimum_size() > written_bytes {
        let problem = format!("bytes are read from {}, which has fewer", nodes[from].label());
        let accepted = format!("at most {written_bytes}");
        return Err(InvalidField::new(
            format!("{}.TotalTensorSizeInBytes", edge.label),
            read.minimum_size(),
            problem,
            accepted,
        ));
    }
    Ok(())
}

fn in_a_circle(nodes: &[GraphNode], circle: &[usize]) -> Error {
    let labels: Vec<String> = circle.iter().map(|node| nodes[*node].label()).collect();
    let problem = "read each other in a cycle";
    let field =
        InvalidField::new("IntermediateEdges", labels.join(", "), problem, "edges without a cycle");
    Error::InvalidGraph(field)
}

/// The binding requirement of each input of the graph: the maximum over all tensors that read the input.
fn inputs(
    graph: &GraphDesc,
    nodes: &[GraphNode],
    edges: &Edges<'_>,
) -> Result<Vec<Option<BindingRequirement>>, InvalidField> {
    let mut inputs: Vec<Option<(&TensorLayout, BindingRequirement)>> =
        vec![None; graph.input_count as usize];
    for edge in &edges.into_nodes {
        let (Source::Input(index), (node, input)) = (edge.from, edge.to) else { continue };
        let Some(tensor) = nodes[node].tensor(FieldKind::Input, input) else { continue };
        let Some((first, all)) = &mut inputs[index] else {
            let first = BindingRequirement::of(format!("Inputs[{index}]"), tensor);
            inputs[index] = Some((tensor, first));
            continue;
        };
        let one = BindingRequirement::of("", tensor);
        let differs = |member: &str, given: String, accepted: String| {
            let problem = format!("differs from that of another edge from input {index}");
            InvalidField::new(format!("{}.{member}", edge.label), given, problem, accepted)
        };
        if tensor.data_type() != first.data_type() {
            let (given, accepted) = (tensor.data_type(), first.data_type());
            return Err(differs("DataType", given.to_string(), accepted.to_string()));
        }
        if one.bound_at != all.bound_at {
            let flags =
                |it: BoundAt| if it == BoundAt::Initialization { "OWNED_BY_DML" } else { "NONE" };
            return Err(differs(
                "Flags",
                flags(one.bound_at).to_owned(),
                flags(all.bound_at).to_owned(),
            ));
        }
        all.size = all.size.max(one.size);
        all.alignment = all.alignment.max(one.alignment);
    }
    Ok(inputs.into_iter().map(|input| input.map(|(_, requirement)| requirement)).collect())
}

fn outputs(
    nodes: &[GraphNode],
    outputs: Vec<Option<(Label<'_>, Source)>>,
) -> Result<Vec<(Source, BindingRequirement)>, InvalidField> {
    let mut all = Vec::with_capacity(outputs.len());
    for (index, output) in outputs.into_iter().enumerate() {
        let Some((label, source)) = output else {
            let problem = "output of the graph has no edge";
            return Err(InvalidField::new(
                "OutputEdges",
                format!("the {index}."),
                problem,
                "one edge for each output",
            ));
        };
        let Source::Node { node, output } = source else { continue };
        let Some(tensor) = nodes[node].tensor(FieldKind::Output, output) else {
            let accepted = "an output of an operator";
            let problem = "is not an output of an operator";
            return Err(InvalidField::new(
                label.to_string(),
                nodes[node].label(),
                problem,
                accepted,
            ));
        };
        all.push((source, BindingRequirement::of(format!("Outputs[{index}]"), tensor)));
    }
    Ok(all)
}
