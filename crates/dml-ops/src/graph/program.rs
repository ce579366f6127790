//! The programs of several element-wise operators as one.

use std::collections::HashMap;

use dml_core::graph::{Source, ValidatedGraph};
use dml_core::schema::FieldKind;
use dml_core::{DataType, Error, TensorLayout};
use dml_spirv::element_wise::{Program, Value, estimated_bytes};
use dml_spirv::functions::{Function, ZERO_EXTEND_8, ZERO_EXTEND_16};

use super::values::Values;
use super::{Forms, value_before};
use crate::ir::space::{IterationSpace, Operand};
use crate::ir::{Buffer, Computation, Map};

/// What several operators compute together.
pub(super) struct Merged<'a> {
    /// What is computed of the elements of `inputs`, and where the last operator writes it.
    pub(super) map: Map,
    /// What is read, each once: a value, and the tensor that it is read as.
    pub(super) inputs: Vec<(Source, &'a TensorLayout)>,
}

impl Merged<'_> {
    /// About how large its kernel is.
    pub(super) fn estimated_bytes(&self) -> usize {
        estimated_bytes(&self.map.computation.program, self.inputs.len())
    }
}

/// Where the parts of one program are put together.
#[derive(Default)]
struct Joined {
    program: Program,
    /// The result of each node.
    results: HashMap<usize, Value>,
}

/// The program of `nodes`, each of which only later ones read but for the last, and their inputs in the
/// order in which they are first read.
///
/// # Errors
/// [`Error::Internal`]: there are no nodes.
pub(super) fn merged<'a>(
    graph: &'a ValidatedGraph,
    values: &Values,
    nodes: &[usize],
    forms: &'a Forms,
) -> Result<Merged<'a>, Error> {
    let mut inputs: Vec<(Source, &TensorLayout)> = Vec::new();
    let mut operands: Vec<Operand> = Vec::new();
    let (mut whole, mut packed) = (Joined::default(), Some(Joined::default()));
    let mut parameters: Vec<u32> = Vec::new();
    let mut last = None;
    for node in nodes.iter().copied() {
        let (map, of) = (&forms[&node].map, &graph.nodes()[node]);
        let mut reads: Vec<Read> = Vec::new();
        for operand in &map.space.inputs {
            let (source, tensor) = match (operand.buffer, &forms[&node].before) {
                (Some(Buffer::Input(at)), _) => {
                    (of.inputs[at as usize], of.tensor(FieldKind::Input, at as usize))
                }
                (Some(Buffer::Local(_)), Some(before)) => {
                    (Some(value_before(graph, node)), Some(&before.tensor))
                }
                _ => (None, None),
            };
            let (Some(source), Some(tensor)) = (source, tensor) else { continue };
            let source = values.root(source);
            if let Source::Node { node: from, output: 0 } = source
                && whole.results.contains_key(&from)
            {
                reads.push(Read::Result { node: from, data_type: tensor.data_type() });
                continue;
            }
            let known = inputs.iter().zip(&operands).position(|((it, _), other)| {
                *it == source && operand.lies_as(other, &map.space.sizes)
            });
            let index = known.unwrap_or_else(|| {
                inputs.push((source, tensor));
                let number = u32::try_from(operands.len()).unwrap_or(u32::MAX);
                operands.push(Operand { buffer: Some(Buffer::Input(number)), ..operand.clone() });
                inputs.len() - 1
            });
            reads.push(Read::Input(index));
        }
        let first_parameter = u32::try_from(parameters.len()).unwrap_or(u32::MAX);
        whole.add(node, &map.computation.program, &reads, first_parameter, true);
        packed = packed.zip(map.computation.packed.as_ref()).map(|(mut packed, program)| {
            packed.add(node, program, &reads, first_parameter, false);
            packed
        });
        parameters.extend(&map.computation.parameters);
        last = Some(&map.space);
    }
    let space = last.ok_or_else(|| Error::internal("GRAPH", "a group has no nodes"))?;
    let space = IterationSpace { inputs: operands, ..space.clone() };
    let packed = packed.map(|it| it.program);
    let computation = Computation { program: whole.program, packed, parameters };
    Ok(Merged { map: Map { space, computation }, inputs })
}

/// What a node reads: an input of the whole program, or the result of a node before it.
enum Read {
    Input(usize),
    Result { node: usize, data_type: DataType },
}

impl Joined {
    /// Adds the steps of a node. With `as_stored`, results are read as they would be if they had been
    /// stored and loaded.
    fn add(
        &mut self,
        node: usize,
        program: &Program,
        reads: &[Read],
        first_parameter: u32,
        as_stored: bool,
    ) {
        let mut values = Vec::with_capacity(reads.len());
        for read in reads {
            values.push(match read {
                Read::Input(index) => Value::Input(*index),
                Read::Result { node, data_type } => {
                    let function = stored(*data_type).filter(|_| as_stored);
                    self.program.apply_all(function, self.results[node])
                }
            });
        }
        let first = self.program.steps.len();
        for step in &program.steps {
            let argument = |value: &Value| match *value {
                Value::Input(index) => values[index],
                Value::Result(index) => Value::Result(first + index),
                Value::Parameter(index) => Value::Parameter(first_parameter + index),
            };
            self.program.apply(step.function, step.arguments.iter().map(argument).collect());
        }
        let result = if program.steps.is_empty() { values[0] } else { self.program.last() };
        self.results.insert(node, result);
    }
}

/// What storing an integer and loading it does to the bits above it.
fn stored(data_type: DataType) -> Option<&'static Function> {
    match data_type {
        DataType::Int8 | DataType::Uint8 => Some(&ZERO_EXTEND_8),
        DataType::Int16 | DataType::Uint16 => Some(&ZERO_EXTEND_16),
        _ => None,
    }
}
