//! Assembles a program from an evaluated graph: one graph of operators, or several where a single graph cannot
//! hold them all, with the bindings of their inputs and outputs.

mod division;
mod owned;
mod stage;

use std::sync::Arc;

use dml_core::graph::GraphValue;
use dml_core::schema::FieldKind;
use dml_core::{AbstractOperator, DataType, TensorDesc};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::element::ElementType;
use crate::error::{Error, NodeName, Result};
use crate::graph::value::{Content, Storage, Value, View};
use crate::graph::{DeviceNode, Evaluation, Graph, GraphOutput, Owner, Question, materialized};
use crate::limits;
use crate::program::{
    Binding, BufferPlan, Destination, HostQuestion, Initial, Program, ProgramInput, Read, Source,
    Step, Weight, tensor_name,
};
use crate::tensor::{Tensor, byte_count};

use division::{constants, device_value, divided, needed};
use owned::owning_weights;
use stage::{Edge, GraphInputSource, InputKey, Stage};

/// Bindings within the constant buffer start at multiples of this many bytes.
const ALIGNMENT: usize = 16;

/// The program whose outputs are the graph's. It also computes the device values that the host was told.
pub(crate) fn assemble(graph: &Graph, evaluation: &Evaluation) -> Result<Program> {
    let questions = evaluation.device.questions();
    let answered = questions.into_iter().filter(|question| question.answer.is_some()).collect();
    assemble_with(graph, evaluation, &graph.outputs, answered)
}

/// The program that computes only the device values that the host asks for.
pub(crate) fn assemble_questions(graph: &Graph, evaluation: &Evaluation) -> Result<Program> {
    assemble_with(graph, evaluation, &[], evaluation.device.questions())
}

fn assemble_with(
    graph: &Graph,
    evaluation: &Evaluation,
    named: &[GraphOutput],
    questions: Vec<Question>,
) -> Result<Program> {
    let mut outputs = Vec::new();
    let named = tensors(evaluation, named);
    for (name, value) in &named {
        let owner = Owner::outside(Arc::new(NodeName::new("Output", name)));
        outputs.push(source(evaluation, &owner, value)?);
    }
    for Question { node, value, .. } in &questions {
        let owner = Owner::outside(Arc::clone(node));
        outputs.push(source(evaluation, &owner, value)?);
    }
    let values = graph.inputs.iter().map(|input| evaluation.value(input.value)).collect();
    let mut assembler = Assembler { values, ..Assembler::default() };
    assembler.nodes(&evaluation.device.all(), &outputs)?;
    let (mut program, written) = assembler.finish();
    let destinations = named.into_iter().map(|(name, _)| Destination::Output(name));
    let destinations = destinations.chain((0..questions.len()).map(Destination::Answer));
    for (destination, (source, value)) in destinations.zip(outputs) {
        let (element, shape) = (value.element()?, value.shape()?.to_vec());
        let source = match source {
            Origin::Known(source) => source,
            Origin::Device(at) => Source::Buffer(written[&at].clone()),
        };
        program.steps.push(Step::Read(Read { destination, element, shape, source }));
    }
    for (input, bound) in graph.inputs.iter().zip(&evaluation.inputs) {
        let value = evaluation.value(input.value);
        program.inputs.push(ProgramInput {
            name: bound.name.clone(),
            element: value.element,
            shape: value.shape.clone().unwrap_or_default().into_vec(),
            tensor: bound.tensor.clone(),
            fixed: bound.is_read(),
            given: bound.is_given,
        });
    }
    let asked =
        |it: Question| HostQuestion { key: it.key, node: (*it.node).clone(), answer: it.answer };
    program.questions = questions.into_iter().map(asked).collect();
    program.conclusions = Arc::clone(&evaluation.conclusions);
    Ok(program)
}

/// The graph's outputs with their names; those of a sequence are its tensors, `name[0]` and so on, and an optional
/// value without an element is none.
fn tensors(evaluation: &Evaluation, named: &[GraphOutput]) -> Vec<(String, Value)> {
    let tensors = |output: &GraphOutput| match &evaluation.value(output.value).content {
        Content::Sequence(tensors) => {
            let named = tensors.iter().enumerate();
            named.map(|(at, it)| (tensor_name(&output.name, at), it.clone())).collect()
        }
        Content::Nothing => vec![],
        _ => vec![(output.name.clone(), evaluation.value(output.value).clone())],
    };
    named.iter().flat_map(tensors).collect()
}

/// Where the values of a graph's output come from.
enum Origin {
    Known(Source),
    /// An output of a device node: the node's index, and the index of the output.
    Device((usize, usize)),
}

/// The origin of an output's values. A value that is not packed anywhere is written by one more operator.
fn source(evaluation: &Evaluation, owner: &Owner, value: &Value) -> Result<(Origin, Value)> {
    value.check()?;
    let (element, shape) = (value.element()?, value.shape()?);
    if shape.contains(&0) {
        let empty = Tensor::new(element, shape, Vec::new())?;
        return Ok((Origin::Known(Source::Host(empty)), value.clone()));
    }
    let value = match value.view() {
        // The host can evaluate a known value in any order of its elements.
        Some(View { storage: Storage::Tensor(_) | Storage::Constant(_), strides }) => {
            if strides.is_some() {
                evaluation.budget.take(shape)?;
            }
            let tensor = value.tensor(&owner.name, |_| String::new())?;
            return Ok((Origin::Known(Source::Host(tensor)), value.clone()));
        }
        _ => materialized(&evaluation.device, owner, value)?,
    };
    value.check()?;
    let origin = match value.view().map(|view| &view.storage) {
        Some(Storage::Input(input)) => Origin::Known(Source::Input(input.index)),
        Some(Storage::Device { node, output }) => Origin::Device((*node, *output)),
        _ => return Err(Error::malformed("an output of the graph has no storage")),
    };
    Ok((origin, value))
}

#[derive(Default)]
struct Assembler<'a> {
    /// The values of the model's inputs, known or not.
    values: Vec<&'a Value>,
    buffers: Vec<BufferPlan>,
    /// Bytes of the constant buffer: tensors computed on the host, and small constants.
    constants: Vec<u8>,
    stages: Vec<Stage>,
    /// How many of the first stages are executed once, before the first run.
    once: usize,
    written: Written,
}

/// The buffer ranges that outputs of device nodes of earlier stages were written to, by node and output index.
type Written = FxHashMap<(usize, usize), Binding>;

impl Assembler<'_> {
    /// Adds the nodes that the outputs depend on, and the outputs.
    fn nodes(&mut self, nodes: &[DeviceNode], outputs: &[(Origin, Value)]) -> Result<()> {
        let is_needed = needed(nodes, outputs);
        let is_constant = constants(nodes, &is_needed);
        let (stage_of, once) = divided(nodes, &is_constant);
        self.once = once;
        let mut stages: Vec<Vec<usize>> = Vec::new();
        for (index, stage) in stage_of.iter().enumerate().filter(|(index, _)| is_needed[*index]) {
            stages.resize(stages.len().max(stage + 1), vec![]);
            stages[*stage].push(index);
        }
        let of_graph = outputs.iter().filter_map(|(origin, _)| match origin {
            Origin::Device(at) => Some(*at),
            Origin::Known(_) => None,
        });
        let mut published: Vec<Vec<(usize, usize)>> = vec![vec![]; stages.len()];
        of_graph.for_each(|at| published[stage_of[at.0]].push(at));
        for index in stages.iter().skip(1).flatten() {
            let earlier = nodes[*index].inputs.iter().flatten().filter_map(device_value);
            let earlier = earlier.filter(|at| stage_of[at.0] < stage_of[*index]);
            earlier.for_each(|at| published[stage_of[at.0]].push(at));
        }
        for (own, published) in stages.iter().zip(&published) {
            let mut stage = Stage::default();
            let mut values: FxHashMap<usize, GraphValue> = FxHashMap::default();
            for index in own {
                let operator = owning_weights(nodes, *index, &is_constant);
                let value = self.node(&mut stage, &nodes[*index], operator, &values)?;
                values.insert(*index, value);
            }
            for at in published {
                if self.written.contains_key(at) {
                    continue;
                }
                let kind = &nodes[at.0].outputs[at.1];
                let binding = self.buffer(kind.element, &kind.shape, Initial::Undefined);
                stage.output(values[&at.0], at.1, binding.clone());
                self.written.insert(*at, binding);
            }
            self.stages.push(stage);
        }
        Ok(())
    }

    /// Adds a node, with its operator, that reads `values` of earlier nodes of its stage.
    fn node(
        &mut self,
        stage: &mut Stage,
        node: &DeviceNode,
        operator: AbstractOperator,
        values: &FxHashMap<usize, GraphValue>,
    ) -> Result<GraphValue> {
        let mut inputs: SmallVec<[Option<Edge>; 4]> = SmallVec::new();
        let read = operator.bindings(FieldKind::Input).map(|(_, tensor)| tensor);
        for (storage, tensor) in node.inputs.iter().zip(read) {
            inputs.push(match (storage, tensor) {
                (Some(Storage::Device { node, output }), _) if values.contains_key(node) => {
                    Some(Edge::Node(values[node], *output))
                }
                (Some(other), Some(tensor)) => Some(self.input(stage, other, tensor)?),
                _ => None,
            });
        }
        Ok(stage.node(node, operator, &inputs))
    }

    /// The graph's input with the elements of `storage`, read with the type and flags of `tensor`.
    fn input(&mut self, stage: &mut Stage, storage: &Storage, tensor: &TensorDesc) -> Result<Edge> {
        // Small tensors are identified by their bytes, others by their address.
        let small = match storage {
            Storage::Tensor(tensor) => Some(tensor.clone()),
            Storage::Constant(constant) => {
                let bytes = byte_count(constant.element, &constant.shape).unwrap_or(u64::MAX);
                let is_small = bytes <= limits::SMALL_CONSTANT as u64;
                is_small.then(|| constant.load()).transpose()?
            }
            _ => None,
        };
        let key = match (storage, &small) {
            (_, Some(tensor)) => {
                let (bytes, length) = (tensor.bytes(), tensor.bytes().len());
                match length <= limits::SMALL_CONSTANT {
                    true => InputKey::Small(bytes.to_vec()),
                    false => InputKey::Tensor(bytes.as_ptr().addr(), length),
                }
            }
            (Storage::Input(input), _) => InputKey::Input(input.index),
            (Storage::Constant(constant), _) => InputKey::Constant(Arc::as_ptr(constant).addr()),
            (Storage::Device { node, output }, _) => InputKey::Earlier(*node, *output),
            (Storage::Tensor(_), None) => {
                return Err(Error::malformed("an input of the graph has no storage"));
            }
        };
        let read_as = (tensor.data_type, tensor.flags);
        stage.input((key, read_as), || self.bound(storage, small))
    }

    /// The buffer range of an input of the graph: tensors whose elements are `known` share the constant buffer.
    fn bound(&mut self, storage: &Storage, known: Option<Tensor>) -> Result<GraphInputSource> {
        if let Some(tensor) = known {
            let start = self.constants.len().next_multiple_of(ALIGNMENT);
            self.constants.resize(start, 0);
            self.constants.extend_from_slice(tensor.bytes());
            let length = tensor.bytes().len().next_multiple_of(4);
            self.constants.resize(start + length, 0);
            return Ok(GraphInputSource::Constant(start as u64, length as u64));
        }
        let (element, shape, initial) = match storage {
            Storage::Input(input) => {
                let value = self.values[input.index];
                (value.element()?, value.shape()?.to_vec(), Initial::Input(input.index))
            }
            Storage::Constant(constant) => {
                let initial = Initial::Weight(Weight(Arc::clone(constant)));
                (constant.element, constant.shape.clone(), initial)
            }
            // Stages before this one are complete.
            Storage::Device { node, output } => {
                return Ok(GraphInputSource::Buffer(self.written[&(*node, *output)].clone()));
            }
            Storage::Tensor(_) => {
                return Err(Error::malformed("an input of the graph has no storage"));
            }
        };
        Ok(GraphInputSource::Buffer(self.buffer(element, &shape, initial)))
    }

    fn buffer(&mut self, element: ElementType, shape: &[u64], initial: Initial) -> Binding {
        let bytes = byte_count(element, shape).unwrap_or(0);
        let size = bytes.next_multiple_of(4);
        self.buffers.push(BufferPlan { size, initial });
        Binding { buffer: self.buffers.len() - 1, offset: 0, size }
    }

    /// The program without its outputs, and the bindings that hold the values of nodes.
    fn finish(mut self) -> (Program, Written) {
        let mut program = Program::default();
        if !self.constants.is_empty() {
            let size = self.constants.len() as u64;
            let element = ElementType::Dml(DataType::Uint8);
            let constants = Tensor::new(element, [size], std::mem::take(&mut self.constants));
            // The shape is the number of bytes, so this does not fail.
            if let Ok(constants) = constants {
                self.buffers.push(BufferPlan { size, initial: Initial::Tensor(constants) });
            }
        }
        let constants = self.buffers.len().saturating_sub(1);
        program.buffers = self.buffers;
        for (index, stage) in self.stages.into_iter().enumerate() {
            stage.finish(&mut program, constants, index < self.once);
        }
        (program, self.written)
    }
}
