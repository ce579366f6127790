//! A graph as one program: the programs of its operators, one after the other.

use dml_core::graph::{GraphNode, NodeWork, Source, ValidatedGraph};
use dml_core::plan::UNIFORM_ALIGNMENT;
use dml_core::schema::FieldKind;
use dml_core::{Error, TensorLayout};
use dml_spirv::ElementWidth;
use rustc_hash::{FxBuildHasher, FxHashMap};
use smallvec::smallvec;

use super::known::KnownPrograms;
use crate::Target;
use crate::ir::space::{IterationSpace, Operand, leading};
use crate::ir::{
    Binding, Buffer, Buffers, Computation, Content, Map, Node, Origin, Program, Recorded, Stage,
};

/// The program's name, for labels and messages.
const GRAPH: &str = "GRAPH";

/// The program of the `needed` nodes of `graph`, in execution order.
///
/// # Errors
/// [`Error::InNode`] with the error of a node's program.
pub(super) fn program(
    graph: &ValidatedGraph,
    needed: &[bool],
    target: &Target<'_>,
    known: &KnownPrograms,
) -> Result<Program, Error> {
    let mut all = Concatenation::new(graph)?;
    for number in graph.order().iter().copied().filter(|it| needed[*it]) {
        let node = &graph.nodes()[number];
        match &node.work {
            NodeWork::Constant(bytes) => {
                let content =
                    Content::Constant { bytes: bytes.to_vec(), alignment: UNIFORM_ALIGNMENT };
                let buffer = all.program.declare(content);
                all.values.insert(Source::Node { node: number, output: 0 }, buffer);
            }
            NodeWork::Operator(operator) => {
                let program = known.recorded(operator, target);
                all.add(number, &*program.map_err(|it| in_node(graph, number, it))?)?;
            }
        }
    }
    all.copy_outputs()?;
    Ok(all.program)
}

/// An error in a node of the graph.
pub(super) fn in_node(graph: &ValidatedGraph, number: usize, error: Error) -> Error {
    Error::InNode { node: graph.nodes()[number].label(), error: Box::new(error) }
}

/// A program to which the programs of operators are added.
struct Concatenation<'a> {
    graph: &'a ValidatedGraph,
    program: Program,
    /// The buffer of each value.
    values: FxHashMap<Source, Buffer>,
}

impl<'a> Concatenation<'a> {
    /// A program with the graph's inputs and outputs. A value that is several outputs is bound to the first
    /// of them.
    fn new(graph: &'a ValidatedGraph) -> Result<Self, Error> {
        let mut program = Program {
            field: "Outputs",
            inputs: Vec::with_capacity(graph.inputs().len()),
            outputs: Vec::with_capacity(graph.outputs().len()),
            locals: Vec::with_capacity(graph.nodes().len()),
            nodes: Vec::with_capacity(graph.nodes().len()),
            ..Program::empty(GRAPH)
        };
        let count = graph.inputs().len() + graph.nodes().len();
        let mut values = FxHashMap::with_capacity_and_hasher(count, FxBuildHasher);
        for ((at, requirement), tensor) in (0..).zip(graph.inputs()).zip(widest_reads(graph)) {
            program.inputs.push(requirement.clone().zip(tensor).map(|(requirement, tensor)| {
                Binding { field: "Inputs", requirement, tensor: tensor.clone() }
            }));
            values.insert(Source::Input(at as usize), Buffer::Input(at));
        }
        for (at, (source, requirement)) in (0..).zip(graph.outputs()) {
            let tensor = graph.tensor(FieldKind::Output, at as usize);
            let tensor =
                tensor.ok_or_else(|| Error::internal(GRAPH, "no operator writes an output"))?;
            let (requirement, tensor) = (requirement.clone(), tensor.clone());
            program.outputs.push(Some(Binding { field: "Outputs", requirement, tensor }));
            values.entry(*source).or_insert(Buffer::Output(at));
        }
        Ok(Self { graph, program, values })
    }

    /// Adds the program of an operator, with its buffers renamed.
    fn add(&mut self, number: usize, operator: &Program) -> Result<(), Error> {
        let node = &self.graph.nodes()[number];
        let outputs: Buffers = (0..operator.outputs.len())
            .map(|output| self.output(node, Source::Node { node: number, output }))
            .collect();
        // A tensor that is left out is not read.
        let left_out = Buffer::Input(u32::MAX);
        let values = &self.values;
        let input = |source: &Option<Source>| {
            source.and_then(|source| values.get(&source).copied()).unwrap_or(left_out)
        };
        let inputs: Buffers = node.inputs.iter().map(input).collect();
        let first_local = self.program.locals.len();
        self.program.locals.extend_from_slice(&operator.locals);
        let name = |buffer: Buffer| match buffer {
            Buffer::Input(at) => inputs.get(at as usize).copied().unwrap_or(left_out),
            Buffer::Output(at) => outputs[at as usize],
            Buffer::Local(at) => Buffer::Local(first_local + at),
        };
        for Recorded { node, origin } in &operator.nodes {
            let node = node.renamed(&name);
            if node.reads().contains(&left_out) {
                return Err(Error::internal(origin.operator, "a tensor that is left out is read"));
            }
            let Origin { operator, field, .. } = *origin;
            let origin = Origin { operator, field, sources: smallvec![number] };
            self.program.nodes.push(Recorded { node, origin });
        }
        Ok(())
    }

    /// The buffer that a node writes a value to.
    fn output(&mut self, node: &GraphNode, value: Source) -> Buffer {
        if let Some(buffer) = self.values.get(&value) {
            return *buffer;
        }
        let Source::Node { output, .. } = value else { return Buffer::Input(u32::MAX) };
        let tensor = node.tensor(FieldKind::Output, output);
        let bytes = tensor.map_or(0, TensorLayout::total_size);
        let width =
            tensor.and_then(|tensor| ElementWidth::from_element_bits(tensor.data_type().bits()));
        let width = width.unwrap_or(ElementWidth::B8);
        let count = bytes.div_ceil(width.bytes().into());
        let buffer =
            self.program.declare(Content::Computed { width, count, stage: Stage::Execution });
        self.values.insert(value, buffer);
        buffer
    }

    /// Adds the copies of values that are several outputs of the graph: one for each output but the first.
    fn copy_outputs(&mut self) -> Result<(), Error> {
        for (at, (value, _)) in (0..).zip(self.graph.outputs()) {
            let (buffer, copy) = (self.values[value], Buffer::Output(at));
            let Source::Node { node, .. } = *value else { continue };
            let tensor =
                self.graph.tensor(FieldKind::Output, at as usize).filter(|_| buffer != copy);
            let Some(tensor) = tensor else { continue };
            let space = IterationSpace {
                sizes: leading(tensor.sizes(), 1),
                inputs: vec![Operand::of(GRAPH, buffer, tensor)?],
                output: Operand::of(GRAPH, copy, tensor)?,
            };
            self.program.record(Node::Map(Map { space, computation: Computation::copy() }))?;
            if let Some(recorded) = self.program.nodes.last_mut() {
                recorded.origin.sources = smallvec![node];
            }
        }
        Ok(())
    }
}

/// For each input of the graph the tensor that it is read as; of several the one with the most bytes.
fn widest_reads(graph: &ValidatedGraph) -> Vec<Option<&TensorLayout>> {
    let mut widest: Vec<Option<&TensorLayout>> = vec![None; graph.inputs().len()];
    for node in graph.nodes() {
        for (at, source) in node.inputs.iter().enumerate() {
            let Some(Source::Input(input)) = source else { continue };
            let read = node.tensor(FieldKind::Input, at);
            let bytes = |it: Option<&TensorLayout>| it.map(TensorLayout::minimum_size);
            if bytes(read) > bytes(widest[*input]) {
                widest[*input] = read;
            }
        }
    }
    widest
}

/// Whether each node of a graph is needed, from the last to the first: its result is an output, or is read by
/// a node that is needed.
pub(super) fn needed(graph: &ValidatedGraph) -> Vec<bool> {
    let mut needed = vec![false; graph.nodes().len()];
    let need = |source: &Source, needed: &mut [bool]| {
        if let Source::Node { node, .. } = source {
            needed[*node] = true;
        }
    };
    graph.outputs().iter().for_each(|(source, _)| need(source, &mut needed));
    for node in graph.order().iter().rev().copied() {
        if needed[node] {
            let sources = graph.nodes()[node].inputs.iter().flatten();
            sources.for_each(|source| need(source, &mut needed));
        }
    }
    needed
}
