//! The conclusions of an evaluation from values that the caller gave.
//!
//! Shapes and operators may depend on elements of inputs. Most often they depend on a few numbers that the host
//! computes of them, such as the greater one of a length and a capacity. An evaluation records these computations;
//! other values of which the host computes the same numbers have the same program.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rustc_hash::FxHashSet;

use crate::error::Result;
use crate::graph::device::DeviceNodes;
use crate::graph::ops::Demand;
use crate::graph::ops::operands::Budget;
use crate::graph::value::{BoundInput, Content, Storage, Value};
use crate::graph::{Node, ValueId};
use crate::limits;

/// The computations of an evaluation that depend on elements of inputs, and which of their results decide.
#[derive(Debug, Default)]
pub(crate) struct Conclusions {
    /// Each after those whose results it uses.
    pub(super) computations: Vec<Computation>,
    /// Results that shapes, operators or outputs depend on.
    pub(super) deciding: FxHashSet<ValueId>,
    /// Inputs whose elements decide themselves, by their numbers.
    pub(super) inputs: BTreeSet<usize>,
    /// Whether the computations would take too much memory, and are left out.
    pub(super) is_too_large: bool,
    pub(super) spares_floats: bool,
    pub(super) is_reading: bool,
}

/// A node that was computed on the host.
#[derive(Debug)]
pub(super) struct Computation {
    /// Its number in the graph.
    pub(super) node: usize,
    pub(super) demand: Demand,
    /// Operands that are inputs of the graph have no elements here.
    pub(super) operands: Vec<Option<Value>>,
    pub(super) results: Vec<Value>,
}

/// Records conclusions while nodes are evaluated.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    found: RefCell<Conclusions>,
    /// Values that depend on elements of inputs.
    dependent: RefCell<FxHashSet<ValueId>>,
    bytes: RefCell<usize>,
}

/// The state before a node was evaluated.
pub(crate) struct EvaluationState {
    /// Inputs of the graph that it may read, and how often they were read before.
    inputs: Vec<(Arc<BoundInput>, usize)>,
    operators: usize,
    questions: usize,
}

impl Trace {
    /// The state before `node` is evaluated.
    pub(crate) fn before(
        node: &Node,
        values: &[Option<Value>],
        device: &DeviceNodes,
    ) -> EvaluationState {
        let count = |input: &Arc<BoundInput>| input.reads.load(Ordering::Relaxed);
        let inputs = operands(node, values).flatten().flat_map(inputs_of);
        let inputs = inputs.map(|input| (Arc::clone(input), count(input))).collect();
        let questions = device.question_count();
        EvaluationState { inputs, operators: device.all().len(), questions }
    }

    /// Records the evaluation of the node with this number, if it depends on elements of inputs.
    pub(crate) fn record(
        &self,
        (index, node): (usize, &Node),
        demand: Demand,
        values: &[Option<Value>],
        (before, device): (EvaluationState, &DeviceNodes),
        found: &Result<Vec<Value>>,
    ) {
        let read = before.inputs.iter();
        let read = read.filter(|(it, count)| it.reads.load(Ordering::Relaxed) > *count);
        let read: Vec<usize> = read.map(|(it, _)| it.index).collect();
        let mut dependent = self.dependent.borrow_mut();
        let used: Vec<ValueId> = node
            .inputs
            .iter()
            .flatten()
            .copied()
            .filter(|input| dependent.contains(input))
            .collect();
        if read.is_empty() && used.is_empty() {
            return;
        }
        let is_on_host = |it: &Value| match &it.content {
            Content::Fill(_) => true,
            Content::Stored(view) => matches!(view.storage, Storage::Tensor(_)),
            Content::Sequence(_) | Content::Nothing | Content::Refused(_) => false,
        };
        let is_of_device = |it: &Value| it.view().is_some_and(|view| view.storage.is_on_device());
        let is_computation = before.operators == device.all().len()
            && before.questions == device.question_count()
            && !operands(node, values).flatten().any(is_of_device)
            && !operands(node, values).flatten().any(is_sequence);
        let mut conclusions = self.found.borrow_mut();
        match found {
            Ok(results) if is_computation && results.iter().all(is_on_host) => {
                dependent.extend(node.outputs.iter().flatten());
                let results = results.iter().take(node.outputs.len()).cloned().collect();
                let operands = operands(node, values).map(|it| it.map(without_elements)).collect();
                let computation = Computation { node: index, demand, operands, results };
                *self.bytes.borrow_mut() += computation.bytes();
                conclusions.computations.push(computation);
            }
            _ => {
                conclusions.deciding.extend(used);
                conclusions.inputs.extend(read);
            }
        }
    }

    /// The conclusions of an evaluation of which these are the outputs.
    pub(crate) fn finish(
        self,
        outputs: impl Iterator<Item = ValueId>,
        (budget, device): (&Budget, &DeviceNodes),
    ) -> Conclusions {
        let (dependent, bytes) = (self.dependent.into_inner(), self.bytes.into_inner());
        let mut found = self.found.into_inner();
        found.deciding.extend(outputs.filter(|output| dependent.contains(output)));
        if bytes > limits::CONCLUSIONS {
            found = Conclusions { is_too_large: true, ..Conclusions::default() };
        }
        found.spares_floats = budget.spares_floats();
        found.is_reading = device.is_read();
        found
    }
}

impl Computation {
    fn bytes(&self) -> usize {
        let values = self.operands.iter().flatten().chain(&self.results);
        let bytes = |value: &Value| match value.view().map(|view| &view.storage) {
            Some(Storage::Tensor(tensor)) => tensor.bytes().len(),
            _ => 0,
        };
        values.map(bytes).sum()
    }
}

fn operands<'a>(
    node: &'a Node,
    values: &'a [Option<Value>],
) -> impl Iterator<Item = Option<&'a Value>> {
    node.inputs.iter().map(|id| id.and_then(|id| values[id].as_ref()))
}

fn is_sequence(value: &Value) -> bool {
    matches!(value.content, Content::Sequence(_) | Content::Nothing)
}

/// The inputs of the graph that a value is, or that are tensors of a sequence.
fn inputs_of(value: &Value) -> impl Iterator<Item = &Arc<BoundInput>> {
    let tensors = match &value.content {
        Content::Sequence(tensors) => tensors,
        _ => std::slice::from_ref(value),
    };
    tensors.iter().filter_map(input_of)
}

/// The input of the graph that a value is.
pub(super) fn input_of(value: &Value) -> Option<&Arc<BoundInput>> {
    match &value.view()?.storage {
        Storage::Input(input) => Some(input),
        _ => None,
    }
}

/// The value, without the elements of an input of the graph.
fn without_elements(value: &Value) -> Value {
    match input_of(value) {
        Some(input) => {
            let unread = BoundInput::unread(input.index, &input.name);
            value.with_storage(Storage::Input(Arc::new(unread)))
        }
        None => value.clone(),
    }
}
