//! From an evaluated graph to a program: one graph of operators, and what its inputs and outputs are.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use dml_core::DataType;
use dml_core::graph::{GraphBuilder, GraphValue};
use dml_core::schema::FieldKind;

use crate::element::ElementType;
use crate::error::{Error, NodeName, Result};
use crate::graph::value::{Storage, Value, View};
use crate::graph::{DeviceNode, Evaluation, Graph, Owner, materialized};
use crate::limits;
use crate::program::{
    Binding, BufferPlan, Destination, Dispatch, Initial, Operator, Program, ProgramInput, Read,
    Source, Step, Weight, Work,
};
use crate::tensor::{Tensor, byte_count};

/// A binding begins at a multiple of so many bytes.
const ALIGNMENT: usize = 16;

/// The program whose outputs are the graph's.
pub(crate) fn assemble(graph: &Graph, evaluation: &Evaluation) -> Result<Program> {
    let mut outputs = Vec::new();
    for output in &graph.outputs {
        let name = Arc::new(NodeName::new("Output", &output.name));
        let owner = Owner { name, index: None };
        outputs.push(source(evaluation, &owner, evaluation.value(output.value))?);
    }
    let values = graph.inputs.iter().map(|input| evaluation.value(input.value)).collect();
    let mut assembler = Assembler { values, ..Assembler::default() };
    assembler.nodes(&evaluation.device.all(), &outputs)?;
    let (mut program, written) = assembler.finish();
    for (output, (source, value)) in graph.outputs.iter().zip(outputs) {
        let (element, shape) = (value.element()?, value.shape()?.to_vec());
        let source = match source {
            Origin::Known(source) => source,
            Origin::Device(at) => Source::Buffer(written[&at].clone()),
        };
        let destination = Destination::Output(output.name.clone());
        program.steps.push(Step::Read(Read { destination, element, shape, source }));
    }
    for (input, bound) in graph.inputs.iter().zip(&evaluation.inputs) {
        let value = evaluation.value(input.value);
        program.inputs.push(ProgramInput {
            name: bound.name.clone(),
            element: value.element,
            shape: value.shape.clone().unwrap_or_default(),
            tensor: bound.tensor.clone(),
            fixed: bound.read.load(Ordering::Relaxed),
            given: bound.is_given,
        });
    }
    Ok(program)
}

/// What an output of the graph is.
enum Origin {
    Known(Source),
    /// An output of a node of the device.
    Device((usize, usize)),
}

/// Where an output comes from; one that does not lie packed anywhere is written by one more operator.
fn source(evaluation: &Evaluation, owner: &Owner, value: &Value) -> Result<(Origin, Value)> {
    value.check()?;
    let (element, shape) = (value.element()?, value.shape()?);
    if shape.contains(&0) {
        let empty = Tensor::new(element, shape, Vec::new())?;
        return Ok((Origin::Known(Source::Host(empty)), value.clone()));
    }
    let value = match value.view() {
        // The host sees what it knows in any order.
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
        _ => return Err(Error::malformed("an output lies nowhere")),
    };
    Ok((origin, value))
}

/// What tells one input of the device's graph from another. Types tell equal bytes apart, since all that
/// read an input have its type.
#[derive(PartialEq, Eq, Hash)]
enum InputKey {
    Input(usize),
    /// By its address.
    Constant(usize),
    /// By its elements' address.
    Tensor(Option<DataType>, usize, usize),
    /// By its elements.
    Small(Option<DataType>, Vec<u8>),
}

#[derive(Default)]
struct Assembler<'a> {
    /// What is known of the model's inputs.
    values: Vec<&'a Value>,
    builder: GraphBuilder,
    buffers: Vec<BufferPlan>,
    /// Tensors that the program has in one buffer.
    constants: Vec<u8>,
    /// The graph's inputs, and where they are bound. Those in the buffer of constants have none yet.
    inputs: Vec<Bound>,
    known: HashMap<InputKey, (GraphValue, usize)>,
    outputs: Vec<Binding>,
    written: Written,
    names: Vec<NodeName>,
    /// The only node, where there is one.
    single: Option<Operator>,
    /// Which inputs of the graph the only node has, in its binding order.
    bindings: Vec<Option<usize>>,
}

/// Where an input of the graph is.
enum Bound {
    Buffer(Binding),
    /// The first byte and the number of bytes in the buffer of constants.
    Constant(u64, u64),
}

/// Where outputs of nodes are.
type Written = HashMap<(usize, usize), Binding>;

impl Assembler<'_> {
    /// Adds the nodes that the outputs depend on, and the outputs.
    fn nodes(&mut self, nodes: &[DeviceNode], outputs: &[(Origin, Value)]) -> Result<()> {
        let is_needed = needed(nodes, outputs);
        let mut values: HashMap<usize, GraphValue> = HashMap::new();
        for (index, node) in nodes.iter().enumerate().filter(|(index, _)| is_needed[*index]) {
            let value = self.node(node, &values)?;
            values.insert(index, value);
        }
        for (origin, value) in outputs {
            let Origin::Device(at) = origin else { continue };
            if self.written.contains_key(at) {
                continue;
            }
            let binding = self.buffer(value.element()?, value.shape()?, Initial::Undefined);
            self.builder.output(self.builder.output_of(values[&at.0], number(at.1)));
            self.outputs.push(binding.clone());
            self.written.insert(*at, binding);
        }
        Ok(())
    }

    /// Adds a node, which reads `values` of earlier ones.
    fn node(
        &mut self,
        node: &DeviceNode,
        values: &HashMap<usize, GraphValue>,
    ) -> Result<GraphValue> {
        let mut inputs = Vec::new();
        self.bindings = Vec::new();
        for storage in &node.inputs {
            match storage {
                None => self.bindings.push(None),
                Some(Storage::Device { node, output }) => {
                    inputs.push(self.builder.output_of(values[node], number(*output)));
                }
                Some(other) => {
                    let (value, at) = self.input(other)?;
                    self.bindings.push(Some(at));
                    inputs.push(value);
                }
            }
        }
        let value = self.builder.operator(node.operator.clone(), &inputs);
        self.builder.name(value, node.name.to_string());
        self.names.push((*node.name).clone());
        // An operator by itself has all its outputs bound.
        let is_single =
            self.names.len() == 1 && node.operator.bindings(FieldKind::Output).count() == 1;
        let work = Work::Operator(node.operator.clone());
        self.single = is_single.then(|| Operator { node: (*node.name).clone(), work });
        Ok(value)
    }

    /// The graph's input with these elements, and its number.
    fn input(&mut self, storage: &Storage) -> Result<(GraphValue, usize)> {
        // What is small is known by its elements.
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
                let data_type = tensor.element_type().storage();
                let (bytes, length) = (tensor.bytes(), tensor.bytes().len());
                match length <= limits::SMALL_CONSTANT {
                    true => InputKey::Small(data_type, bytes.to_vec()),
                    false => InputKey::Tensor(data_type, bytes.as_ptr().addr(), length),
                }
            }
            (Storage::Input(input), _) => InputKey::Input(input.index),
            (Storage::Constant(constant), _) => InputKey::Constant(Arc::as_ptr(constant).addr()),
            _ => return Err(Error::malformed("an input lies nowhere")),
        };
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        let bound = self.bound(storage, small)?;
        self.inputs.push(bound);
        let entry = (self.builder.input(), self.inputs.len() - 1);
        self.known.insert(key, entry);
        Ok(entry)
    }

    /// Where an input of the graph is: tensors that are known are in one buffer.
    fn bound(&mut self, storage: &Storage, known: Option<Tensor>) -> Result<Bound> {
        if let Some(tensor) = known {
            let start = self.constants.len().next_multiple_of(ALIGNMENT);
            self.constants.resize(start, 0);
            self.constants.extend_from_slice(tensor.bytes());
            let length = tensor.bytes().len().next_multiple_of(4);
            self.constants.resize(start + length, 0);
            return Ok(Bound::Constant(start as u64, length as u64));
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
            _ => return Err(Error::malformed("an input lies nowhere")),
        };
        Ok(Bound::Buffer(self.buffer(element, &shape, initial)))
    }

    fn buffer(&mut self, element: ElementType, shape: &[u64], initial: Initial) -> Binding {
        let bytes = byte_count(element, shape).unwrap_or(0);
        let size = bytes.next_multiple_of(4);
        self.buffers.push(BufferPlan { size, initial });
        Binding { buffer: self.buffers.len() - 1, offset: 0, size }
    }

    /// The program without its outputs, and where these are.
    fn finish(mut self) -> (Program, Written) {
        let mut program = Program::default();
        if !self.constants.is_empty() {
            let size = self.constants.len() as u64;
            let element = ElementType::Dml(DataType::Uint8);
            let constants = Tensor::new(element, [size], std::mem::take(&mut self.constants));
            // As many bytes as there are.
            if let Ok(constants) = constants {
                self.buffers.push(BufferPlan { size, initial: Initial::Tensor(constants) });
            }
        }
        let buffer = self.buffers.len().saturating_sub(1);
        let bound = |it: Bound| match it {
            Bound::Buffer(binding) => binding,
            Bound::Constant(offset, size) => Binding { buffer, offset, size },
        };
        let inputs: Vec<Binding> = self.inputs.into_iter().map(bound).collect();
        program.buffers = self.buffers;
        if !self.names.is_empty() {
            let outputs = self.outputs.into_iter().map(Some).collect();
            let (operator, inputs) = match self.single {
                Some(operator) => {
                    let bind = |it: Option<usize>| it.map(|at| inputs[at].clone());
                    (operator, self.bindings.into_iter().map(bind).collect())
                }
                None => {
                    let (desc, nodes) = (Arc::new(self.builder.finish()), self.names);
                    let node = NodeName::new("graph", format!("{} operators", nodes.len()));
                    let inputs = inputs.into_iter().map(Some).collect();
                    (Operator { node, work: Work::Graph { desc, nodes } }, inputs)
                }
            };
            program.operators.push(operator);
            program.steps.push(Step::Dispatch(Dispatch { operator: 0, inputs, outputs }));
        }
        (program, self.written)
    }
}

/// Which nodes the outputs depend on: each reads earlier ones alone.
fn needed(nodes: &[DeviceNode], outputs: &[(Origin, Value)]) -> Vec<bool> {
    let mut needed = vec![false; nodes.len()];
    for (origin, _) in outputs {
        if let Origin::Device((node, _)) = origin {
            needed[*node] = true;
        }
    }
    for (index, node) in nodes.iter().enumerate().rev() {
        if !needed[index] {
            continue;
        }
        for storage in node.inputs.iter().flatten() {
            if let Storage::Device { node, .. } = storage {
                needed[*node] = true;
            }
        }
    }
    needed
}

/// There are fewer nodes and outputs than 32 bits count.
fn number(output: usize) -> u32 {
    u32::try_from(output).unwrap_or(u32::MAX)
}
