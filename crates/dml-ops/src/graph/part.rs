//! The parts of a graph, each lowered by itself.

use dml_core::Error;
use dml_core::graph::{Source, ValidatedGraph};
use dml_core::plan::Plan;
use dml_core::schema::FieldKind;

use super::fusible::Body;
use super::group::{Group, Work};
use super::program::Merged;
use super::values::Values;
use super::{Programs, value_of_body};
use crate::Target;
use crate::ir::space::{IterationSpace, Operand, leading};
use crate::ir::{Binding, Buffer, Computation, Map, Node, Program};
use crate::schedule;

/// A part of a graph: steps on slots of its own.
pub(super) struct Part {
    pub(super) nodes: Vec<usize>,
    /// The output of the graph that it writes, where its value is another one as well.
    pub(super) writes_output: Option<usize>,
    /// The value of each input slot; `None` where a tensor is left out.
    pub(super) inputs: Vec<Option<Source>>,
    /// The value of each output slot, and its bytes.
    pub(super) outputs: Vec<Option<(Source, u64)>>,
    /// What it computes.
    pub(super) program: Program,
    /// How that is executed.
    pub(super) plan: Plan,
}

/// Lowers every group.
pub(super) fn parts(
    graph: &ValidatedGraph,
    values: &Values,
    groups: &[Group<'_>],
    programs: &Programs,
    target: &Target<'_>,
) -> Result<Vec<Part>, Error> {
    let lower = |group: &Group<'_>| {
        let lowered = match &group.work {
            Work::Fused(_, merged) => fused_part(graph, merged, &group.nodes, target),
            Work::Body(body) => body_part(graph, values, group.nodes[0], body, target),
            Work::Operator => operator_part(graph, values, group.nodes[0], programs, target),
        };
        let last = group.nodes.last().copied().unwrap_or_default();
        let node = || graph.nodes()[last].label.clone();
        lowered.map_err(|error| Error::InNode { node: node(), error: Box::new(error) })
    };
    let mut parts = groups.iter().map(lower).collect::<Result<Vec<_>, _>>()?;
    parts.extend(copies_of_outputs(graph, values, target)?);
    Ok(parts)
}

/// Where one value is several outputs of the graph, a copy for each but the first.
fn copies_of_outputs(
    graph: &ValidatedGraph,
    values: &Values,
    target: &Target<'_>,
) -> Result<Vec<Part>, Error> {
    let mut copies = Vec::new();
    for (index, (value, _)) in graph.outputs().iter().enumerate() {
        let Source::Node { node, output } = *value else { continue };
        if values.outputs(*value).first() == Some(&index) {
            continue;
        }
        let tensor = graph.nodes()[node].tensor(FieldKind::Output, output);
        let tensor = tensor.ok_or_else(|| Error::internal("GRAPH", "no output"))?;
        let space = IterationSpace {
            sizes: leading(tensor.sizes(), 1),
            inputs: vec![Operand::of("GRAPH", Buffer::Input(0), tensor)?],
            output: Operand::of("GRAPH", Buffer::Output(0), tensor)?,
        };
        let binding = || vec![Some(Binding::of("Outputs", tensor))];
        let (inputs, outputs) = (binding(), binding());
        let mut copy = Program { field: "Outputs", inputs, outputs, ..Program::empty("GRAPH") };
        copy.record(Node::Map(Map { space, computation: Computation::copy() }))?;
        // No node has this number.
        let copied = Source::Node { node: graph.nodes().len() + index, output: 0 };
        copies.push(Part {
            nodes: vec![node],
            writes_output: Some(index),
            inputs: vec![Some(*value)],
            outputs: vec![Some((copied, tensor.binding_size()))],
            plan: schedule::plan(&copy, target)?,
            program: copy,
        });
    }
    Ok(copies)
}

/// What a node does.
fn operator_part(
    graph: &ValidatedGraph,
    values: &Values,
    node: usize,
    programs: &Programs,
    target: &Target<'_>,
) -> Result<Part, Error> {
    let program = programs[node].as_ref();
    let program = program.ok_or_else(|| Error::internal("GRAPH", "a constant is no part"))?;
    let outputs = program.outputs.iter().enumerate();
    let value = |output| Source::Node { node, output };
    let outputs = outputs.map(|(at, it)| it.as_ref().map(|it| (value(at), it.requirement.size)));
    Part::of_node(graph, values, node, outputs.collect(), program, target)
}

/// A node without its epilogue.
fn body_part(
    graph: &ValidatedGraph,
    values: &Values,
    node: usize,
    body: &Body,
    target: &Target<'_>,
) -> Result<Part, Error> {
    let outputs = vec![Some((value_of_body(graph, node), body.tensor.binding_size()))];
    Part::of_node(graph, values, node, outputs, &body.program, target)
}

impl Part {
    fn of_node(
        graph: &ValidatedGraph,
        values: &Values,
        node: usize,
        outputs: Vec<Option<(Source, u64)>>,
        program: &Program,
        target: &Target<'_>,
    ) -> Result<Self, Error> {
        let inputs = graph.nodes()[node].inputs.iter();
        Ok(Self {
            nodes: vec![node],
            writes_output: None,
            inputs: inputs.map(|it| it.map(|source| values.root(source))).collect(),
            outputs,
            program: program.clone(),
            plan: schedule::plan(program, target)?,
        })
    }
}

fn fused_part(
    graph: &ValidatedGraph,
    merged: &Merged<'_>,
    nodes: &[usize],
    target: &Target<'_>,
) -> Result<Part, Error> {
    let last = nodes.last().copied().unwrap_or_default();
    let operator = graph.nodes()[last].operator();
    let name = operator.map_or("GRAPH", |it| it.schema().name);
    let (written, output) = merged.output;
    let inputs = merged.inputs.iter().map(|(_, tensor)| Some(Binding::of("", tensor))).collect();
    let outputs = vec![Some(Binding::of("OutputTensor", output))];
    let mut program = Program { field: "OutputTensor", inputs, outputs, ..Program::empty(name) };
    program.record(merged.node.clone())?;
    if let Node::Map(map) = &merged.node {
        program.in_place = program.inputs_as_output(&map.space);
    }
    Ok(Part {
        nodes: nodes.to_vec(),
        writes_output: None,
        inputs: merged.inputs.iter().map(|(source, _)| Some(*source)).collect(),
        outputs: vec![Some((written, output.binding_size()))],
        plan: schedule::plan(&program, target)?,
        program,
    })
}
