//! Whether what an evaluation concluded from the caller's values holds for others.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::graph::device::{DeviceNodes, Owner};
use crate::graph::ops::operands::Budget;
use crate::graph::ops::schedule::{Context, evaluate_node};
use crate::graph::ops::trace::{Computation, Conclusions, input_of};
use crate::graph::reading::Answers;
use crate::graph::value::{BoundInput, Content, Storage, Value, View};
use crate::graph::{Graph, Node, ValueId};
use crate::tensor::Tensor;

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
        let mut values: FxHashMap<ValueId, Value> = FxHashMap::default();
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
        changed: &mut FxHashMap<ValueId, Value>,
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

    /// The results that the host computes of these operands; `None` if it needs the device.
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
