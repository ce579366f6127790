//! One of a program's graphs of operators.

use std::sync::Arc;

use dml_core::graph::{GraphBuilder, GraphValue};
use dml_core::schema::FieldKind;
use dml_core::{AbstractOperator, DataType, TensorFlags};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::error::{NodeName, Result};
use crate::graph::DeviceNode;
use crate::program::{Binding, Dispatch, Operator, Program, Step, Work};

/// The data type and flags that all readers of a graph's input share.
type ReadAs = (DataType, TensorFlags);

/// Identifies an input of a graph, together with [`ReadAs`].
#[derive(PartialEq, Eq, Hash)]
pub(super) enum InputKey {
    Input(usize),
    /// A constant, by its address.
    Constant(usize),
    /// A tensor, by the address and length of its elements.
    Tensor(usize, usize),
    /// A small tensor, by its elements.
    Small(Vec<u8>),
    /// An output of a node of an earlier stage: the node, and the output's index.
    Earlier(usize, usize),
}

/// The buffer range of a graph's input.
pub(super) enum GraphInputSource {
    Buffer(Binding),
    /// The offset and the number of bytes in the constant buffer.
    Constant(u64, u64),
}

/// The source of an operator's input.
#[derive(Clone, Copy)]
pub(super) enum Edge {
    /// An output of another node of the graph.
    Node(GraphValue, usize),
    /// An input of the graph, with its index.
    Input(GraphValue, usize),
}

/// A graph of operators under construction.
#[derive(Default)]
pub(super) struct Stage {
    builder: GraphBuilder,
    /// The buffer ranges of the graph's inputs. The constant buffer has no index yet.
    inputs: Vec<GraphInputSource>,
    known: FxHashMap<(InputKey, ReadAs), Edge>,
    outputs: Vec<Binding>,
    names: Vec<Arc<NodeName>>,
    /// The only node, where there is one.
    single: Option<Operator>,
    /// For each input of the only node, in binding order, the index of the graph's input.
    bindings: Vec<Option<usize>>,
}

impl Stage {
    /// Adds a node that reads `edges`, in the operator's binding order.
    pub(super) fn node(
        &mut self,
        node: &DeviceNode,
        operator: AbstractOperator,
        edges: &[Option<Edge>],
    ) -> GraphValue {
        let value = |edge: &Edge| match edge {
            Edge::Node(value, output) => self.builder.output_of(*value, number(*output)),
            Edge::Input(value, _) => *value,
        };
        let inputs: SmallVec<[GraphValue; 4]> = edges.iter().flatten().map(value).collect();
        let value = self.builder.operator(operator.clone(), &inputs);
        self.builder.name(value, Arc::clone(&node.label));
        self.names.push(Arc::clone(&node.name));
        // An operator by itself has all its outputs bound.
        let is_single = self.names.len() == 1 && operator.bindings(FieldKind::Output).count() == 1;
        if is_single {
            let input = |edge: &Option<Edge>| match edge {
                Some(Edge::Input(_, at)) => Some(*at),
                _ => None,
            };
            self.bindings = edges.iter().map(input).collect();
        }
        let work = Work::Operator(operator);
        self.single = is_single.then(|| Operator { node: NodeName::clone(&node.name), work });
        value
    }

    /// The graph's input with this key; `bound` gives the buffer range of a new one.
    pub(super) fn input(
        &mut self,
        key: (InputKey, ReadAs),
        bound: impl FnOnce() -> Result<GraphInputSource>,
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

    /// Adds the graph, or its only node, to a program, to be executed `once` or in each run. `constants` is the
    /// index of the constant buffer.
    pub(super) fn finish(self, program: &mut Program, constants: usize, once: bool) {
        let bound = |it: GraphInputSource| match it {
            GraphInputSource::Buffer(binding) => binding,
            GraphInputSource::Constant(offset, size) => Binding { buffer: constants, offset, size },
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

/// The number of nodes and outputs is limited to far less than 2^32.
fn number(output: usize) -> u32 {
    u32::try_from(output).unwrap_or(u32::MAX)
}
