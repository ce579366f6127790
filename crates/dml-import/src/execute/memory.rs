//! Creates the buffers of programs, and describes their content in errors.

use dml::{Buffer, BufferDesc, BufferUsage, CompiledOperator, Device, MemoryLocation};
use dml_core::graph::{GraphDesc, NodeKind};
use dml_core::schema::FieldKind;
use dml_core::{AbstractOperator, TensorDesc};

use crate::element::ElementType;
use crate::error::{Error, MissingMemory, NodeName, Result};
use crate::program::{Destination, Initial, Operator, Program, Read, Source, Step, Weight, Work};
use crate::tensor::text;

use super::{at, its_buffers};

/// Creates a buffer in device memory; `content` describes it in the error if there is no room.
pub(super) fn create(
    device: &Device,
    size: u64,
    content: impl FnOnce() -> String,
) -> Result<Buffer> {
    device.create_buffer(size).map_err(|error| missing(device, (size, content), error))
}

/// Whether an error is that memory ran out.
pub(crate) fn is_out_of_memory(error: &Error) -> bool {
    error.device_error().is_some_and(dml::Error::is_out_of_memory)
}

/// Creates a staging buffer, which the host writes or reads.
pub(super) fn create_for_transfers(
    device: &Device,
    size: u64,
    (location, usage, called): (MemoryLocation, BufferUsage, &'static str),
) -> Result<Buffer> {
    let buffer = device.vulkan().create_buffer(&BufferDesc { size, usage, location, name: called });
    let content = || format!("staging buffer for all {called}");
    buffer.map_err(|error| missing(device, (size, content), error.into()))
}

fn missing(
    device: &Device,
    (size, content): (u64, impl FnOnce() -> String),
    error: dml::Error,
) -> Error {
    if !error.is_out_of_memory() && !error.is_unsupported() {
        return at(&its_buffers(), error);
    }
    let (content, size) = (content(), Some(size));
    let held = device.vulkan().memory_report().allocated;
    Error::Memory(Box::new(MissingMemory { content, size, held, error }))
}

/// A tensor in messages: `output 'y' float32 [2, 3]`.
pub(super) fn tensor(called: &str, element: ElementType, shape: &[u64]) -> String {
    format!("{called} {element} {}", text(shape))
}

/// A weight in messages: `weight 'w' float32 [2, 3]`.
pub(super) fn weight(Weight(constant): &Weight) -> String {
    let called = match constant.name.as_str() {
        "" => "weight".to_owned(),
        name => format!("weight '{name}'"),
    };
    tensor(&called, constant.element, &constant.shape)
}

/// An output, or a resource of DxDispatch, in messages.
pub(super) fn output(read: &Read) -> String {
    let called = match &read.destination {
        Destination::Output(name) => format!("output '{name}'"),
        Destination::Answer(_) => "value for the host".to_owned(),
        Destination::Print { resource, .. } => format!("resource '{resource}'"),
        Destination::File(path) => format!("resource for file '{}'", path.display()),
    };
    tensor(&called, read.element, &read.shape)
}

/// The buffers for the temporary resource of any one of the operators, if bound buffers have this usage: the bytes of
/// each, and the index that is given with the operator that needs as many.
pub(super) fn largest_scratch<'a>(
    operators: impl Iterator<Item = (usize, &'a CompiledOperator)>,
    usage: BufferUsage,
) -> Vec<(u64, usize)> {
    let mut largest: Vec<(u64, usize)> = Vec::new();
    for (index, operator) in operators {
        let sizes = operator.vulkan().temporary_buffers(usage);
        largest.resize(largest.len().max(sizes.len()), (0, index));
        for (known, size) in largest.iter_mut().zip(sizes) {
            *known = (size, index).max(*known);
        }
    }
    largest
}

/// The temporary buffers that operators share, one after the other.
pub(super) fn scratch<'a>(
    device: &Device,
    program: &Program,
    operators: impl Iterator<Item = (usize, &'a CompiledOperator)>,
) -> Result<Vec<Buffer>> {
    let largest = largest_scratch(operators, BufferUsage::all());
    let buffer =
        |(size, index): (u64, usize)| create(device, size, || temporary(&program.operators[index]));
    largest.into_iter().map(buffer).collect()
}

/// The buffers of an operator's persistent resource; none if it needs none.
pub(super) fn persistent(
    device: &Device,
    node: &NodeName,
    operator: &CompiledOperator,
) -> Result<Vec<Buffer>> {
    let sizes = operator.vulkan().persistent_buffers().into_iter();
    let content = || format!("weights that {node} keeps");
    sizes.map(|size| create(device, size, content)).collect()
}

/// The error for the largest tensor of `program` in place of `error`, if that is a buffer which exceeds a limit of the
/// device, and the tensor does, too.
pub(super) fn with_tensor(device: &Device, program: &Program, error: Error) -> Error {
    let is_beyond_limits =
        |it: &Error| matches!(it, Error::Memory(missing) if missing.error.is_unsupported());
    // The last of several with as many bytes counts: a buffer of the program before an intermediate result, and the first
    // buffer, since inputs and weights explain the others.
    let bound =
        (0..program.buffers.len()).rev().map(|it| (program.buffers[it].size, program.content(it)));
    let tensors = program.operators.iter().filter_map(largest_result).chain(bound);
    let largest = tensors.max_by_key(|(bytes, _)| *bytes).filter(|_| is_beyond_limits(&error));
    let of_tensor = largest.and_then(|(bytes, content)| create(device, bytes, || content).err());
    of_tensor.filter(is_beyond_limits).unwrap_or(error)
}

/// The bytes of all buffers.
pub(super) fn bytes_of<'a>(buffers: impl IntoIterator<Item = &'a Buffer>) -> u64 {
    buffers.into_iter().map(Buffer::size).fold(0, u64::saturating_add)
}

impl Program {
    /// Describes the content of the buffer with this index.
    pub(super) fn content(&self, buffer: usize) -> String {
        match &self.buffers[buffer].initial {
            Initial::Input(index) => {
                let input = &self.inputs[*index];
                let called = format!("input '{}'", input.name);
                match input.element {
                    Some(element) => tensor(&called, element, &input.shape),
                    None => format!("{called} {}", text(&input.shape)),
                }
            }
            Initial::Weight(of) => weight(of),
            initial => {
                let written = self.output_in(buffer).or_else(|| self.result_in(buffer));
                written.unwrap_or_else(|| match initial {
                    Initial::Undefined => "intermediate result".to_owned(),
                    _ => "buffer for constants".to_owned(),
                })
            }
        }
    }

    fn output_in(&self, buffer: usize) -> Option<String> {
        self.steps.iter().find_map(|step| match step {
            Step::Read(read) => match &read.source {
                Source::Buffer(binding) if binding.buffer == buffer => Some(output(read)),
                _ => None,
            },
            _ => None,
        })
    }

    /// Describes an intermediate result in this buffer; `None` if no operator writes it.
    fn result_in(&self, buffer: usize) -> Option<String> {
        self.steps.iter().find_map(|step| {
            let Step::Dispatch(dispatch) = step else { return None };
            let mut outputs = dispatch.outputs.iter();
            let index = outputs.position(|it| it.as_ref().is_some_and(|it| it.buffer == buffer))?;
            let operator = &self.operators[dispatch.operator];
            match &operator.work {
                Work::Operator(one) => Some(result(&operator.node.to_string(), one, index)),
                Work::Graph { desc, nodes } => {
                    let (node, one, output) = writer(desc, index)?;
                    Some(result(&nodes.get(node)?.to_string(), one, output))
                }
            }
        })
    }
}

/// Describes an operator's temporary memory; for a graph, with its largest intermediate result.
pub(super) fn temporary(operator: &Operator) -> String {
    let content = format!("temporary memory of {}", operator.node);
    match largest_result(operator) {
        Some((_, result)) => format!("{content}, such as the {result},"),
        None => content,
    }
}

/// The bytes of the largest intermediate result of a graph, and its description.
fn largest_result(operator: &Operator) -> Option<(u64, String)> {
    let Work::Graph { desc, nodes } = &operator.work else { return None };
    let results = desc.intermediate_edges.iter().filter_map(|edge| {
        let (node, operator) = graph_node(desc, edge.from_node_index)?;
        let output = usize::try_from(edge.from_node_output_index).ok()?;
        let tensor = output_tensor(operator, output)?;
        let sizes = tensor.sizes.iter().map(|size| u128::from(*size));
        let bits = sizes.fold(tensor.data_type.bits().into(), u128::saturating_mul);
        Some((bits, node, operator, output))
    });
    let (bits, node, operator, output) = results.max_by_key(|(bits, ..)| *bits)?;
    let bytes = u64::try_from(bits.div_ceil(8)).ok()?;
    Some((bytes, result(&nodes.get(node)?.to_string(), operator, output)))
}

/// The node that writes an output of a graph: its index, its operator, and the output's index.
fn writer(graph: &GraphDesc, output: usize) -> Option<(usize, &AbstractOperator, usize)> {
    let mut edges = graph.output_edges.iter();
    let edge = edges.find(|edge| usize::try_from(edge.graph_output_index) == Ok(output))?;
    let (node, operator) = graph_node(graph, edge.from_node_index)?;
    Some((node, operator, usize::try_from(edge.from_node_output_index).ok()?))
}

fn graph_node(graph: &GraphDesc, node: u32) -> Option<(usize, &AbstractOperator)> {
    let node = usize::try_from(node).ok()?;
    match &graph.nodes.get(node)?.kind {
        NodeKind::Operator(operator) => Some((node, operator)),
        NodeKind::Constant(_) => None,
    }
}

fn output_tensor(operator: &AbstractOperator, output: usize) -> Option<&TensorDesc> {
    operator.bindings(FieldKind::Output).nth(output).and_then(|(_, tensor)| tensor)
}

/// The output of a node in messages: `result of MatMul 'n' FLOAT32 [2, 3]`.
fn result(node: &str, operator: &AbstractOperator, output: usize) -> String {
    match output_tensor(operator, output) {
        Some(tensor) => {
            format!("result of {node} {} {:?}", tensor.data_type.name(), tensor.sizes)
        }
        None => format!("result of {node}"),
    }
}
