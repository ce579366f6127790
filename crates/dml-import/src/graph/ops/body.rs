//! The body of a loop: a graph that is evaluated once for each iteration.

use crate::element::ElementType;
use crate::error::Result;
use crate::graph::ops::concat::join;
use crate::graph::ops::schedule::{Context, demanded, evaluate_nodes, found};
use crate::graph::ops::split::parts;
use crate::graph::ops::{Demand, Need, NodeInputs};
use crate::graph::order::{needed, topological};
use crate::graph::value::{Kind, Value};
use crate::graph::{Graph, ValueId};
use crate::tensor::{Tensor, text};

/// A graph with values of its own; its last inputs are the values of outer graphs that it uses.
#[derive(Debug)]
pub(crate) struct Body {
    graph: Graph,
    order: Vec<usize>,
    /// The cost of an iteration: values read and written, plus entries of attributes.
    cost: u64,
    /// The values that the host needs, depending on whether the loop's outputs may be computed by a device,
    /// should be computed by the host, or have to be.
    demanded: [Vec<Demand>; 3],
}

impl Body {
    /// `entries` is the number of entries of its nodes' attributes. The host should know the output
    /// `condition`. Each pair of an input and an output in `carried` is a loop-carried value.
    ///
    /// # Errors
    /// [`Error::Malformed`](crate::Error): nodes use each other's outputs in a circle, or two write the
    /// same value.
    pub(crate) fn new(
        graph: Graph,
        entries: usize,
        condition: Option<usize>,
        carried: impl IntoIterator<Item = (usize, usize)>,
    ) -> Result<Self> {
        let order = topological(&graph)?;
        let is_needed = needed(&graph, &order);
        let order: Vec<usize> = order.into_iter().filter(|index| is_needed[*index]).collect();
        let read: usize = order.iter().map(|index| graph.nodes[*index].inputs.len()).sum();
        let values = read + graph.value_count + graph.outputs.len();
        let cost = (values + entries + 1) as u64;
        let carried = carried.into_iter();
        let pair = |(input, output): (usize, usize)| {
            (graph.inputs[input].value, graph.outputs[output].value)
        };
        let carried: Vec<(ValueId, ValueId)> = carried.map(pair).collect();
        let condition: Vec<ValueId> =
            condition.iter().map(|index| graph.outputs[*index].value).collect();
        let all: Vec<ValueId> = graph.outputs.iter().map(|output| output.value).collect();
        let demanded = [
            demanded(&graph, (&condition, Demand::Wanted), &carried)?,
            demanded(&graph, (&all, Demand::Wanted), &carried)?,
            demanded(&graph, (&all, Demand::Needed), &carried)?,
        ];
        Ok(Self { graph, order, cost, demanded })
    }

    /// The need for the input with this number.
    pub(super) fn need(&self, input: usize) -> Need {
        match self.graph.inputs.get(input) {
            Some(input) if self.demanded[0][input.value] == Demand::Needed => Need::Host,
            Some(input) if self.demanded[0][input.value] == Demand::Wanted => Need::Wanted,
            _ => Need::Elements,
        }
    }

    /// The number of outputs.
    pub(super) fn outputs(&self) -> usize {
        self.graph.outputs.len()
    }

    /// Checks that the budget allows this many iterations.
    pub(super) fn check_count(&self, operands: &NodeInputs<'_>, iterations: u64) -> Result<()> {
        operands.budget.has_values(operands.node, iterations.saturating_mul(self.cost))
    }

    /// Evaluates the outputs for these inputs, given in the order of the graph's inputs.
    pub(super) fn run<'a>(
        &self,
        operands: &NodeInputs<'_>,
        inputs: impl IntoIterator<Item = Option<&'a Value>>,
    ) -> Result<Vec<Value>> {
        operands.budget.take_values(operands.node, self.cost)?;
        let mut values = vec![None; self.graph.value_count];
        for (input, value) in self.graph.inputs.iter().zip(inputs) {
            values[input.value] = value.cloned();
        }
        let NodeInputs { budget, device, owner, demand, .. } = *operands;
        let context = Context { budget, device, index: owner.index, trace: None };
        let demanded = match demand {
            Demand::None => &self.demanded[0],
            Demand::Wanted => &self.demanded[1],
            Demand::Needed => &self.demanded[2],
        };
        evaluate_nodes(&self.graph, self.order.iter().copied(), demanded, &mut values, context);
        let output = |value: ValueId| found(values[value].clone());
        Ok(self.graph.outputs.iter().map(|it| output(it.value)).collect())
    }

    /// Checks that `value` has the type that the body declares for the input with this number.
    pub(super) fn check_type(
        &self,
        operands: &NodeInputs<'_>,
        input: usize,
        value: &Value,
    ) -> Result<()> {
        let declared = self.graph.inputs.get(input);
        match (declared.and_then(|declared| Some((declared, declared.element?))), value.element) {
            (Some((input, accepted)), Some(given)) if given != accepted => {
                let path = format!("body's input '{}'", input.names[0]);
                Err(operands.node.invalid(path, given, "is the wrong type", accepted.to_string()))
            }
            _ => Ok(()),
        }
    }

    /// Checks that a loop-carried value has the same type after an iteration as before, and the same shape
    /// unless that may change. A value with an error is reported where it is used.
    pub(super) fn check_carried(
        &self,
        operands: &NodeInputs<'_>,
        output: usize,
        [before, after]: [&Value; 2],
        keeps_shape: bool,
    ) -> Result<()> {
        let (Ok(given), Ok(accepted)) = (after.kind(), before.kind()) else { return Ok(()) };
        if given.element == accepted.element && (!keeps_shape || given.shape == accepted.shape) {
            return Ok(());
        }
        let show = |it: Kind| format!("{} {}", it.element, text(&it.shape));
        let path = format!("body's output '{}'", self.graph.outputs[output].name);
        let problem = "is another type or shape than before the iteration";
        Err(operands.node.invalid(path, show(given), problem, show(accepted)))
    }
}

/// The slices of `value` along a dimension, which they do not have.
pub(super) fn slices(
    operands: &NodeInputs<'_>,
    value: &Value,
    axis: usize,
    backward: bool,
) -> Result<Vec<Value>> {
    let mut shape = value.shape()?.to_vec();
    let length = usize::try_from(shape.remove(axis)).unwrap_or(usize::MAX);
    if length == 0 {
        return Ok(vec![]);
    }
    // All slices are made at once, however many iterations follow.
    operands.budget.take_values(operands.node, length as u64)?;
    let slices = parts(operands, value, axis, &vec![1; length])?;
    let slice = |it: &Value| operands.reshaped(it, &shape);
    let mut slices = slices.iter().map(slice).collect::<Result<Vec<Value>>>()?;
    if backward {
        slices.reverse();
    }
    Ok(slices)
}

/// Stacks values along a new dimension, which messages call `path`.
pub(super) fn stacked(
    operands: &NodeInputs<'_>,
    values: &[Value],
    axis: i64,
    path: &str,
) -> Result<Value> {
    let with_axis = |value: &Value| {
        let mut shape = value.shape()?.to_vec();
        let at = operands.axis(axis, shape.len() + 1, path)?;
        shape.insert(at, 1);
        operands.reshaped(value, &shape)
    };
    let values = values.iter().map(with_axis).collect::<Result<Vec<Value>>>()?;
    join(operands, &values.iter().collect::<Vec<&Value>>(), axis, path)
}

/// `count` stacked zeros of this kind along a new dimension.
pub(super) fn zeros(
    operands: &NodeInputs<'_>,
    kind: Kind,
    count: u64,
    axis: i64,
    path: &str,
) -> Result<Value> {
    let Kind { element, mut shape } = kind;
    let at = operands.axis(axis, shape.len() + 1, path)?;
    shape.insert(at, count);
    Ok(Value::fill(Kind { element, shape }, 0))
}

/// A 64-bit integer scalar.
pub(super) fn integer(value: i64) -> Value {
    Value::host(Tensor::from_integers(vec![], &[value]))
}

/// A truth value scalar.
pub(super) fn truth(value: bool) -> Value {
    Value::scalar(ElementType::Bool, value.into())
}
