//! The programs of several element-wise operators as one.

use std::collections::HashMap;

use dml_core::graph::{Source, ValidatedGraph};
use dml_core::schema::FieldKind;
use dml_core::{DataType, Error, TensorLayout};
use dml_spirv::element_wise::{Program, Value, estimated_bytes};
use dml_spirv::functions::{Function, ZERO_EXTEND_8, ZERO_EXTEND_16};

use super::fusible::Fusible;
use super::values::Values;
use super::{FusibleNodes, value_of_body};
use crate::ir::space::{IterationSpace, Operand};
use crate::ir::{Buffer, Computation, Map, Node, Reduce, Reduction};

/// Several operators as one node.
pub(super) struct Merged<'a> {
    /// What is computed of `inputs`, and where the last operator writes it: a Map, or a Reduce.
    pub(super) node: Node,
    /// What is read, each once: a value, and the tensor that it is read as.
    pub(super) inputs: Vec<(Source, &'a TensorLayout)>,
    /// What is written.
    pub(super) output: (Source, &'a TensorLayout),
}

impl Merged<'_> {
    /// The functions, and what they take as parameters.
    fn functions(&self) -> (&Program, &[u32]) {
        match &self.node {
            Node::Reduce(reduce) => (&reduce.reduction.program, &reduce.reduction.parameters),
            Node::Map(map) => (&map.computation.program, &map.computation.parameters),
            _ => unreachable!("no other nodes are merged"),
        }
    }

    /// About how large its kernel is.
    pub(super) fn estimated_bytes(&self) -> usize {
        estimated_bytes(self.functions().0, self.inputs.len())
    }

    /// How many parameters its kernel takes.
    pub(super) fn parameters(&self) -> usize {
        self.functions().1.len()
    }
}

/// Which node of the last operator reads the results of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Consumer {
    /// Its Map.
    Map,
    /// Its Reduce.
    Rows,
}

/// Where the parts of one program are put together.
#[derive(Default)]
struct Joined {
    program: Program,
    /// The result of each node.
    results: HashMap<usize, Value>,
}

/// One operator's part of the merged program.
struct Member<'a> {
    space: &'a IterationSpace,
    program: &'a Program,
    packed: Option<&'a Program>,
    parameters: &'a [u32],
}

impl<'a> Member<'a> {
    /// A node's Map, or, as `Consumer::Rows`, its Reduce.
    fn of(fusible: &'a Fusible, as_what: Consumer) -> Option<Self> {
        Some(match as_what {
            Consumer::Map => {
                let Map { space, computation } = fusible.map()?;
                let Computation { program, packed, parameters } = computation;
                Self { space, program, packed: packed.as_ref(), parameters }
            }
            Consumer::Rows => {
                let Reduce { space, reduction, .. } = fusible.rows()?;
                let (program, parameters) = (&reduction.program, &reduction.parameters);
                Self { space, program, packed: None, parameters }
            }
        })
    }
}

/// The program of `nodes`, each of which only later ones read but for the last, and their inputs in the
/// order in which they are first read. `consumer` says which node of the last operator is meant.
///
/// # Errors
/// [`Error::Internal`]: there are no nodes.
pub(super) fn merged<'a>(
    graph: &'a ValidatedGraph,
    values: &Values,
    nodes: &[usize],
    consumer: Consumer,
    fusible: &'a FusibleNodes,
) -> Result<Merged<'a>, Error> {
    let nothing = || Error::internal("GRAPH", "a group has nothing to compute");
    let last = nodes.last().copied().ok_or_else(nothing)?;
    let mut inputs: Vec<(Source, &TensorLayout)> = Vec::new();
    let mut operands: Vec<Operand> = Vec::new();
    let (mut whole, mut packed) = (Joined::default(), Some(Joined::default()));
    let mut parameters: Vec<u32> = Vec::new();
    let mut first_parameter = 0;
    for node in nodes.iter().copied() {
        let as_what = if node == last { consumer } else { Consumer::Map };
        let member = Member::of(&fusible[&node], as_what).ok_or_else(nothing)?;
        let mut reads: Vec<Read> = Vec::new();
        for operand in &member.space.inputs {
            let (source, tensor) = read(graph, fusible, node, operand).ok_or_else(nothing)?;
            let source = values.root(source);
            if let Source::Node { node: from, output: 0 } = source
                && whole.results.contains_key(&from)
            {
                reads.push(Read::Result { node: from, data_type: tensor.data_type() });
                continue;
            }
            let known = inputs.iter().zip(&operands).position(|((it, _), other)| {
                *it == source && operand.lies_as(other, &member.space.sizes)
            });
            let index = known.unwrap_or_else(|| {
                inputs.push((source, tensor));
                let number = u32::try_from(operands.len()).unwrap_or(u32::MAX);
                operands.push(Operand { buffer: Some(Buffer::Input(number)), ..operand.clone() });
                inputs.len() - 1
            });
            reads.push(Read::Input(index));
        }
        first_parameter = u32::try_from(parameters.len()).unwrap_or(u32::MAX);
        whole.add(node, member.program, &reads, first_parameter, true);
        packed = packed.zip(member.packed).map(|(mut packed, program)| {
            packed.add(node, program, &reads, first_parameter, false);
            packed
        });
        parameters.extend(member.parameters);
    }
    let member = Member::of(&fusible[&last], consumer).ok_or_else(nothing)?;
    let output = Operand { buffer: Some(Buffer::Output(0)), ..member.space.output.clone() };
    let space = IterationSpace { sizes: member.space.sizes, inputs: operands, output };
    let (program, packed) = (whole.program, packed.map(|it| it.program));
    let node = match (consumer, fusible[&last].rows()) {
        (Consumer::Rows, Some(rows)) => {
            let last = with_parameters_from(&rows.reduction.last, first_parameter);
            let reduction = Reduction { program, parameters, last, ..rows.reduction.clone() };
            Node::Reduce(Reduce { space, reduction, grids: None })
        }
        _ => Node::Map(Map { space, computation: Computation { program, packed, parameters } }),
    };
    let output = written(graph, fusible, last, consumer).ok_or_else(nothing)?;
    Ok(Merged { node, inputs, output })
}

/// The value that an operand of a node is, and its tensor.
fn read<'a>(
    graph: &'a ValidatedGraph,
    fusible: &'a FusibleNodes,
    node: usize,
    operand: &Operand,
) -> Option<(Source, &'a TensorLayout)> {
    let of = &graph.nodes()[node];
    match operand.buffer? {
        Buffer::Input(at) => {
            let tensor = of.tensor(FieldKind::Input, at as usize)?;
            Some((of.inputs[at as usize]?, tensor))
        }
        Buffer::Local(_) => {
            let body = fusible[&node].body()?;
            Some((value_of_body(graph, node), &body.tensor))
        }
        Buffer::Output(_) => None,
    }
}

/// The value that the last node of a group writes, and its tensor.
fn written<'a>(
    graph: &'a ValidatedGraph,
    fusible: &'a FusibleNodes,
    node: usize,
    consumer: Consumer,
) -> Option<(Source, &'a TensorLayout)> {
    match (consumer, fusible[&node].body()) {
        (Consumer::Rows, Some(body)) => Some((value_of_body(graph, node), &body.tensor)),
        _ => {
            let tensor = graph.nodes()[node].tensor(FieldKind::Output, 0)?;
            Some((Source::Node { node, output: 0 }, tensor))
        }
    }
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

/// The same program where its first parameter has another number.
fn with_parameters_from(program: &Program, first: u32) -> Program {
    let mut moved = Program::default();
    for step in &program.steps {
        let argument = |value: &Value| match *value {
            Value::Parameter(index) => Value::Parameter(first + index),
            other => other,
        };
        moved.apply(step.function, step.arguments.iter().map(argument).collect());
    }
    moved
}

/// What storing an integer and loading it does to the bits above it.
fn stored(data_type: DataType) -> Option<&'static Function> {
    match data_type {
        DataType::Int8 | DataType::Uint8 => Some(&ZERO_EXTEND_8),
        DataType::Int16 | DataType::Uint16 => Some(&ZERO_EXTEND_16),
        _ => None,
    }
}
