//! What an evaluation concluded from values that the caller gave.
//!
//! Shapes and operators may depend on elements of inputs. Most often they depend on a few numbers that the host
//! computes of them, such as the greater one of a length and a capacity. An evaluation records these computations;
//! other values of which the host computes the same numbers have the same program.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::error::Result;
use crate::graph::device::{DeviceNodes, Owner};
use crate::graph::ops::{Budget, Context, Demand, evaluate_node};
use crate::graph::reading::Answers;
use crate::graph::value::{BoundInput, Content, Storage, Value, View};
use crate::graph::{Graph, Node, ValueId};
use crate::limits;
use crate::tensor::Tensor;

/// The computations of an evaluation that depend on elements of inputs, and which of their results decide.
#[derive(Debug, Default)]
pub(crate) struct Conclusions {
    /// Each after those whose results it uses.
    computations: Vec<Computation>,
    /// Results that shapes, operators or outputs depend on.
    deciding: HashSet<ValueId>,
    /// Inputs whose elements decide themselves, by their numbers.
    inputs: BTreeSet<usize>,
    /// Whether the computations would take too much memory, and are left out.
    is_too_large: bool,
    spares_floats: bool,
    is_reading: bool,
}

/// A node that was computed on the host.
#[derive(Debug)]
struct Computation {
    /// Its number in the graph.
    node: usize,
    demand: Demand,
    /// Those that are inputs of the graph have no elements here.
    operands: Vec<Option<Value>>,
    results: Vec<Value>,
}

/// Records conclusions while nodes are evaluated.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    found: RefCell<Conclusions>,
    /// Values that depend on elements of inputs.
    dependent: RefCell<HashSet<ValueId>>,
    bytes: RefCell<usize>,
}

/// What there was before a node was evaluated.
pub(crate) struct Before {
    /// Inputs of the graph that it may read, and how often they were read before.
    inputs: Vec<(Arc<BoundInput>, usize)>,
    operators: usize,
    questions: usize,
}

impl Trace {
    /// What there is before `node` is evaluated.
    pub(crate) fn before(node: &Node, values: &[Option<Value>], device: &DeviceNodes) -> Before {
        let count = |input: &Arc<BoundInput>| input.reads.load(Ordering::Relaxed);
        let inputs = operands(node, values).flatten().filter_map(input_of);
        let inputs = inputs.map(|it| (Arc::clone(it), count(it))).collect();
        let questions = device.question_count();
        Before { inputs, operators: device.all().len(), questions }
    }

    /// Records the evaluation of the node with this number, if it depends on elements of inputs.
    pub(crate) fn record(
        &self,
        (index, node): (usize, &Node),
        demand: Demand,
        values: &[Option<Value>],
        (before, device): (Before, &DeviceNodes),
        found: &Result<Vec<Value>>,
    ) {
        let read = before.inputs.iter();
        let read = read.filter(|(it, count)| it.reads.load(Ordering::Relaxed) > *count);
        let read: Vec<usize> = read.map(|(it, _)| it.index).collect();
        let mut dependent = self.dependent.borrow_mut();
        let used: Vec<ValueId> =
            node.inputs.iter().flatten().copied().filter(|it| dependent.contains(it)).collect();
        if read.is_empty() && used.is_empty() {
            return;
        }
        let is_on_host = |it: &Value| match &it.content {
            Content::Fill(_) => true,
            Content::Stored(view) => matches!(view.storage, Storage::Tensor(_)),
            Content::Refused(_) => false,
        };
        let is_of_device = |it: &Value| it.view().is_some_and(|it| it.storage.is_on_device());
        let is_computation = before.operators == device.all().len()
            && before.questions == device.question_count()
            && !operands(node, values).flatten().any(is_of_device);
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
        found.deciding.extend(outputs.filter(|it| dependent.contains(it)));
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
        let bytes = |value: &Value| match value.view().map(|it| &it.storage) {
            Some(Storage::Tensor(tensor)) => tensor.bytes().len(),
            _ => 0,
        };
        values.map(bytes).sum()
    }
}

impl Conclusions {
    /// Whether they are the same with these values of inputs: those of which elements count, the value of each and
    /// whether it is another than before.
    pub(crate) fn hold(&self, graph: &Graph, given: Vec<Option<(Tensor, bool)>>) -> bool {
        let is_other = |it: &Option<(Tensor, bool)>| it.as_ref().is_some_and(|(_, other)| *other);
        let mut changed = given.iter().enumerate().filter(|(_, it)| is_other(it));
        let decides = |index: usize| self.is_too_large || self.inputs.contains(&index);
        if changed.any(|(index, _)| decides(index)) {
            return false;
        }
        let bound = |(index, it): (usize, Option<(Tensor, bool)>)| {
            let (tensor, is_other) = it?;
            let input = BoundInput { tensor: Some(tensor), ..BoundInput::unread(index, "") };
            Some((Arc::new(input), is_other))
        };
        let inputs: Vec<Option<(Arc<BoundInput>, bool)>> =
            given.into_iter().enumerate().map(bound).collect();
        let mut values: HashMap<ValueId, Value> = HashMap::new();
        let of_computation = |it| self.holds(graph, it, &inputs, &mut values);
        self.computations.iter().all(of_computation)
    }

    /// Whether a computation gives the results that it gave before, or others that nothing depends on but further
    /// computations. `changed` has results of earlier ones that are others now.
    fn holds(
        &self,
        graph: &Graph,
        computation: &Computation,
        inputs: &[Option<(Arc<BoundInput>, bool)>],
        changed: &mut HashMap<ValueId, Value>,
    ) -> bool {
        let Some(node) = graph.nodes.get(computation.node) else { return false };
        let input = |value: &Value| inputs.get(input_of(value)?.index)?.as_ref();
        let is_changed = |(value, id): (&Option<Value>, &Option<ValueId>)| {
            let is_other = |value| input(value).is_some_and(|(_, is_other)| *is_other);
            id.is_some_and(|id| changed.contains_key(&id)) || value.as_ref().is_some_and(is_other)
        };
        if !computation.operands.iter().zip(&node.inputs).any(is_changed) {
            return true;
        }
        let now = |(value, id): (&Option<Value>, &Option<ValueId>)| {
            let value = id.and_then(|id| changed.get(&id)).or(value.as_ref())?;
            Some(match input(value) {
                Some((input, _)) => value.with_storage(Storage::Input(Arc::clone(input))),
                None => value.clone(),
            })
        };
        let operands: Vec<Option<Value>> =
            computation.operands.iter().zip(&node.inputs).map(now).collect();
        let Some(results) = self.computed(node, computation, &operands) else { return false };
        let pairs = results.into_iter().zip(&computation.results);
        for ((now, before), output) in pairs.zip(&node.outputs) {
            let Some(output) = output else { continue };
            if !is_same(&now, before) {
                if self.deciding.contains(output) {
                    return false;
                }
                changed.insert(*output, now);
            }
        }
        true
    }

    /// What the host computes of these operands; `None` where it cannot alone.
    fn computed(
        &self,
        node: &Node,
        computation: &Computation,
        operands: &[Option<Value>],
    ) -> Option<Vec<Value>> {
        let budget = if self.spares_floats { Budget::sparing_floats() } else { Budget::default() };
        let device = match self.is_reading {
            true => DeviceNodes::reading(Answers::default(), &Arc::default()),
            false => DeviceNodes::new(&Arc::default()),
        };
        let index = Some(computation.node);
        let context = Context { budget: &budget, device: &device, index, trace: None };
        let owner = Owner::of(node, index);
        let operands = operands.iter().map(Option::as_ref).collect();
        let found = evaluate_node(node, operands, context, &owner, computation.demand).ok()?;
        let is_computed = device.all().is_empty() && device.question_count() == 0;
        is_computed.then_some(found)
    }
}

fn operands<'a>(
    node: &'a Node,
    values: &'a [Option<Value>],
) -> impl Iterator<Item = Option<&'a Value>> {
    node.inputs.iter().map(|id| id.and_then(|id| values[id].as_ref()))
}

/// The input of the graph that a value is.
fn input_of(value: &Value) -> Option<&Arc<BoundInput>> {
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

/// Whether two values have the same type, shape, and elements on the host.
fn is_same(one: &Value, other: &Value) -> bool {
    let is_kind = one.element == other.element && one.shape == other.shape;
    is_kind
        && match (&one.content, &other.content) {
            (Content::Fill(one), Content::Fill(other)) => one == other,
            (
                Content::Stored(View { storage: Storage::Tensor(one), strides }),
                Content::Stored(View { storage: Storage::Tensor(other), strides: of_other }),
            ) => one == other && strides == of_other,
            _ => false,
        }
}
