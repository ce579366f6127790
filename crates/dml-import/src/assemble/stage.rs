//! One graph of operators of a program.

use std::collections::HashMap;
use std::sync::Arc;

use dml_core::graph::{GraphBuilder, GraphValue};
use dml_core::schema::FieldKind;
use dml_core::{AbstractOperator, DataType, TensorFlags};

use crate::error::{NodeName, Result};
use crate::graph::DeviceNode;
use crate::program::{Binding, Dispatch, Operator, Program, Step, Work};

/// What all who read an input have in common.
type ReadAs = (DataType, TensorFlags);

/// What tells one input of a graph from another, beside how it is read.
#[derive(PartialEq, Eq, Hash)]
pub(super) enum InputKey {
    Input(usize),
    /// By its address.
    Constant(usize),
    /// By its elements' address.
    Tensor(usize, usize),
    /// By its elements.
    Small(Vec<u8>),
    /// A node of an earlier stage, and which of its outputs.
    Earlier(usize, usize),
}

/// Where an input of the graph is.
pub(super) enum Bound {
    Buffer(Binding),
    /// The first byte and the number of bytes in the buffer of constants.
    Constant(u64, u64),
}

/// What an operator reads.
#[derive(Clone, Copy)]
pub(super) enum Edge {
    /// An output of another one.
    Node(GraphValue, usize),
    /// An input of the graph, and its number.
    Input(GraphValue, usize),
}

/// A graph of operators under construction.
#[derive(Default)]
pub(super) struct Stage {
    builder: GraphBuilder,
    /// The graph's inputs, and where they are bound. Those in the buffer of constants have none yet.
    inputs: Vec<Bound>,
    known: HashMap<(InputKey, ReadAs), Edge>,
    outputs: Vec<Binding>,
    names: Vec<Arc<NodeName>>,
    /// The only node, where there is one.
    single: Option<Operator>,
    /// Which inputs of the graph the only node has, in its binding order.
    bindings: Vec<Option<usize>>,
}

impl Stage {
    /// Adds a node with this operator, that reads these in its binding order.
    pub(super) fn node(
        &mut self,
        node: &DeviceNode,
        operator: AbstractOperator,
        edges: Vec<Option<Edge>>,
    ) -> GraphValue {
        let mut inputs = Vec::new();
        for edge in edges.iter().flatten() {
            inputs.push(match edge {
                Edge::Node(value, output) => self.builder.output_of(*value, number(*output)),
                Edge::Input(value, _) => *value,
            });
        }
        let input = |edge: Option<Edge>| match edge {
            Some(Edge::Input(_, at)) => Some(at),
            _ => None,
        };
        self.bindings = edges.into_iter().map(input).collect();
        let value = self.builder.operator(operator.clone(), &inputs);
        self.builder.name(value, Arc::clone(&node.label));
        self.names.push(Arc::clone(&node.name));
        // An operator by itself has all its outputs bound.
        let is_single = self.names.len() == 1 && operator.bindings(FieldKind::Output).count() == 1;
        let work = Work::Operator(operator);
        self.single = is_single.then(|| Operator { node: NodeName::clone(&node.name), work });
        value
    }

    /// The graph's input with this key; `bound` says where a new one is.
    pub(super) fn input(
        &mut self,
        key: (InputKey, ReadAs),
        bound: impl FnOnce() -> Result<Bound>,
    ) -> Result<Edge> {
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        self.inputs.push(bound()?);
        let edge = Edge::Input(self.builder.input(), self.inputs.len() - 1);
        self.known.insert(key, edge);
        Ok(edge)
    }

    /// Writes an output of a node to `binding`.
    pub(super) fn output(&mut self, node: GraphValue, output: usize, binding: Binding) {
        self.builder.output(self.builder.output_of(node, number(output)));
        self.outputs.push(binding);
    }

    /// Adds the graph, or its only node, to a program, executed `once` or in each run. `constants` is the buffer of
    /// constants.
    pub(super) fn finish(self, program: &mut Program, constants: usize, once: bool) {
        let bound = |it: Bound| match it {
            Bound::Buffer(binding) => binding,
            Bound::Constant(offset, size) => Binding { buffer: constants, offset, size },
        };
        let inputs: Vec<Binding> = self.inputs.into_iter().map(bound).collect();
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
        let number = program.operators.len();
        program.operators.push(operator);
        program.steps.push(Step::Dispatch(Dispatch { operator: number, inputs, outputs, once }));
    }
}

/// There are fewer nodes and outputs than 32 bits count.
fn number(output: usize) -> u32 {
    u32::try_from(output).unwrap_or(u32::MAX)
}
