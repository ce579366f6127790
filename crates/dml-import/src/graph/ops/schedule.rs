//! Evaluates nodes in topological order.

use crate::error::{Error, Result};
use crate::graph::device::{DeviceNodes, Owner};
use crate::graph::ops::operands::{Budget, NodeInputs};
use crate::graph::ops::trace::Trace;
use crate::graph::ops::{Demand, Need, widened};
use crate::graph::order::producers;
use crate::graph::value::{Storage, Value};
use crate::graph::{Graph, Node, ValueId};
use crate::limits;

/// The context of an evaluation of nodes, in addition to their values.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) budget: &'a Budget,
    pub(crate) device: &'a DeviceNodes,
    /// The index of the model's node that these nodes belong to; `None` if they are the model's own.
    pub(crate) index: Option<usize>,
    /// Where conclusions are recorded; `None` in bodies of loops, which their nodes stand for.
    pub(crate) trace: Option<&'a Trace>,
}

/// Evaluates the nodes in `order` and writes their outputs into `values`. An error becomes a value, so that it
/// only affects what depends on it.
pub(crate) fn evaluate_nodes(
    graph: &Graph,
    order: impl IntoIterator<Item = usize>,
    demanded: &[Demand],
    values: &mut [Option<Value>],
    context: Context<'_>,
) {
    for index in order {
        let node = &graph.nodes[index];
        let demand = node.outputs.iter().flatten().map(|output| demanded[*output]);
        let demand = demand.max().unwrap_or_default();
        let origin = context.index.unwrap_or(index);
        let owner = Owner::of(node, Some(origin));
        let before =
            context.trace.map(|trace| (trace, Trace::before(node, values, context.device)));
        let value = |id: &Option<usize>| id.and_then(|id| values[id].as_ref());
        let operands = node.inputs.iter().map(value).collect();
        let found = evaluate_node(node, operands, context, &owner, demand);
        if let Some((trace, before)) = before {
            trace.record((index, node), demand, values, (before, context.device), &found);
        }
        match found {
            Ok(found) => {
                for (output, value) in node.outputs.iter().zip(found) {
                    if let Some(output) = output {
                        values[*output] = Some(value);
                    }
                }
            }
            Err(error) => {
                for output in node.outputs.iter().flatten() {
                    values[*output] = Some(Value::refused(error.clone()));
                }
            }
        }
    }
}

/// The outputs of a node for these operands.
///
/// # Errors
/// The fault of the node or of its operands.
pub(crate) fn evaluate_node(
    node: &Node,
    values: Vec<Option<&Value>>,
    context: Context<'_>,
    owner: &Owner,
    demand: Demand,
) -> Result<Vec<Value>> {
    let op = node.op.as_ref().map_err(Clone::clone)?;
    let Context { budget, device, .. } = context;
    let operands = NodeInputs { node: &node.name, values, budget, device, owner, demand };
    let found = widened::evaluate(op.as_ref(), &operands)?;
    if found.len() < node.outputs.len() {
        let (given, accepted) = (node.outputs.len(), format!("up to {}", found.len()));
        return Err(node.name.invalid("outputs", given, "is the wrong number", accepted));
    }
    for value in &found {
        if let Some(Storage::Tensor(tensor)) = value.view().map(|view| &view.storage) {
            budget.take(tensor.shape())?;
        }
        if let Some(shape) = value.shape.as_ref().filter(|shape| shape.len() > limits::RANK) {
            let (rank, accepted) = (shape.len(), format!("up to {}", limits::RANK));
            return Err(node.name.invalid("output", rank, "dimensions are too many", accepted));
        }
    }
    Ok(found)
}

/// The value, or an error if there is none.
pub(crate) fn found(value: Option<Value>) -> Value {
    value.unwrap_or_else(|| Value::refused(Error::malformed("nothing produces the value")))
}

/// For each value, whether the host needs it: because shapes or attributes depend on it, or because it is one
/// of `roots`, with the demand given beside them. If the first value of a pair in `feedback` is needed, so is
/// the second.
///
/// # Errors
/// [`Error::Malformed`]: two nodes write the same value.
pub(crate) fn demanded(
    graph: &Graph,
    (roots, of_roots): (&[ValueId], Demand),
    feedback: &[(ValueId, ValueId)],
) -> Result<Vec<Demand>> {
    let producers = producers(graph)?;
    let needs = |node: &Node, least: &dyn Fn(Need) -> bool, open: &mut Vec<ValueId>| {
        let Ok(op) = &node.op else { return };
        let inputs = node.inputs.iter().enumerate();
        open.extend(inputs.filter(|(index, _)| least(op.need(*index))).filter_map(|(_, it)| *it));
    };
    let mut next = vec![None; graph.value_count];
    feedback.iter().for_each(|(from, to)| next[*from] = Some(*to));
    let mut demands = vec![Demand::None; graph.value_count];
    for (demand, need) in [(Demand::Needed, Need::Host), (Demand::Wanted, Need::Wanted)] {
        let mut open = if of_roots == demand { roots.to_vec() } else { vec![] };
        graph.nodes.iter().for_each(|node| needs(node, &|it| it == need, &mut open));
        let mut is_visited = vec![false; graph.nodes.len()];
        while let Some(value) = open.pop() {
            if demands[value] >= demand {
                continue;
            }
            demands[value] = demand;
            open.extend(next[value]);
            if let Some(producer) = producers[value].filter(|it| !is_visited[*it]) {
                is_visited[producer] = true;
                needs(&graph.nodes[producer], &|it| it != Need::Shape, &mut open);
            }
        }
    }
    Ok(demands)
}
