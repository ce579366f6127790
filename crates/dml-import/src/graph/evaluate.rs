//! Finds the type, shape and storage of every value for the inputs that are bound.

use std::sync::Arc;

use crate::element::ElementType;
use crate::error::{Error, Requirement, Result};
use crate::graph::device::DeviceNodes;
use crate::graph::ops::{
    Budget, Conclusions, Context, Demand, Trace, demanded, evaluate_nodes, found,
};
use crate::graph::order::{needed, topological};
use crate::graph::reading::Answers;
use crate::graph::symbols::{Symbols, fixed};
use crate::graph::value::{BoundInput, Kind, Storage, Value};
use crate::graph::{Graph, GraphInput};
use crate::inputs::{Input, Inputs};
use crate::tensor::{self, Tensor};

/// Every value of a graph after evaluation. An error is a value, too, so that it only affects what depends on
/// it.
pub(crate) struct Evaluation {
    values: Vec<Value>,
    /// The inputs, in the graph's order.
    pub(crate) inputs: Vec<Arc<BoundInput>>,
    /// The operators that compute the values of the device.
    pub(crate) device: DeviceNodes,
    /// How many elements the host may still read and write.
    pub(crate) budget: Budget,
    /// The results that depend on elements of inputs.
    pub(crate) conclusions: Arc<Conclusions>,
}

impl Evaluation {
    /// The value with this number in the graph.
    pub(crate) fn value(&self, value: usize) -> &Value {
        &self.values[value]
    }
}

/// How much of a graph is evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// The nodes that the outputs depend on.
    Outputs,
    /// Every node.
    Nodes,
    /// The types and shapes of every node, for sizes that may exceed any device's limits.
    Shapes,
}

/// Evaluates the nodes of a graph.
///
/// # Errors
/// Errors of the inputs given, or of the graph as a whole. Errors of nodes are values.
pub(crate) fn evaluate(graph: &Graph, given: &Inputs, extent: Extent) -> Result<Evaluation> {
    let device = || match extent {
        Extent::Shapes => DeviceNodes::shapes(),
        Extent::Outputs | Extent::Nodes => DeviceNodes::new(&graph.operators),
    };
    let first = evaluate_once(graph, given, extent, (Budget::default(), device()))?;
    if !first.device.selects() || !first.inputs.iter().any(|input| input.is_read()) {
        return Ok(first);
    }
    // The host may have read the caller's floats for a condition that the device then computed. Without reading
    // them, the program is valid for all their values.
    let second = evaluate_once(graph, given, extent, (Budget::sparing_floats(), device()))?;
    let refused = |it: &Evaluation| {
        graph.outputs.iter().filter(|output| it.value(output.value).check().is_err()).count()
    };
    Ok(if refused(&second) <= refused(&first) { second } else { first })
}

/// Evaluates every node as a session does: the host reads device values only where it cannot continue without
/// them.
///
/// # Errors
/// See [`evaluate`].
pub(crate) fn evaluate_as_run(graph: &Graph, given: &Inputs) -> Result<Evaluation> {
    let known = evaluate(graph, given, Extent::Nodes)?;
    if graph.outputs.iter().all(|output| known.value(output.value).check().is_ok()) {
        return Ok(known);
    }
    let asking = evaluate_reading(graph, given, Extent::Nodes, Answers::default())?;
    Ok(if asking.device.questions().is_empty() { known } else { asking })
}

/// Evaluates a graph in which the host reads device values, as far as `answers` go.
///
/// # Errors
/// See [`evaluate`].
pub(crate) fn evaluate_reading(
    graph: &Graph,
    given: &Inputs,
    extent: Extent,
    answers: Answers,
) -> Result<Evaluation> {
    // Floats that the caller gives are left to the device: it is asked anyway, and the program is one for
    // all that have the same answers.
    let of = (Budget::sparing_floats(), DeviceNodes::reading(answers, &graph.operators));
    evaluate_once(graph, given, extent, of)
}

fn evaluate_once(
    graph: &Graph,
    given: &Inputs,
    extent: Extent,
    (budget, device): (Budget, DeviceNodes),
) -> Result<Evaluation> {
    known_names(graph, given)?;
    let order = topological(graph)?;
    let needed = needed(graph, &order);
    let demanded = demanded(graph, (&[], Demand::None), &[])?;
    let mut values = vec![None; graph.value_count];
    let mut symbols = Symbols::default();
    let mut inputs = Vec::new();
    for (index, input) in graph.inputs.iter().enumerate() {
        let (value, bound) = bind(input, index, given, &mut symbols)?;
        values[input.value] = Some(value);
        inputs.push(bound);
    }
    let order = order.into_iter().filter(|index| extent != Extent::Outputs || needed[*index]);
    let trace = Trace::default();
    let context = Context { budget: &budget, device: &device, index: None, trace: Some(&trace) };
    evaluate_nodes(graph, order, &demanded, &mut values, context);
    let outputs = graph.outputs.iter().map(|output| output.value);
    let conclusions = Arc::new(trace.finish(outputs, (&budget, &device)));
    let values = values.into_iter().map(found).collect();
    Ok(Evaluation { values, inputs, device, budget, conclusions })
}

fn known_names(graph: &Graph, given: &Inputs) -> Result<()> {
    let known = |name: &str| graph.inputs.iter().any(|it| it.names.iter().any(|it| it == name));
    let Some((name, _)) = given.iter().find(|(name, _)| !known(name)) else { return Ok(()) };
    let names = graph.inputs.iter().filter_map(|input| input.names.first());
    Err(Error::unknown_input(name, names.map(String::as_str)))
}

fn bind(
    input: &GraphInput,
    index: usize,
    given: &Inputs,
    symbols: &mut Symbols,
) -> Result<(Value, Arc<BoundInput>)> {
    let found = input.names.iter().find_map(|name| Some((name, given.get(name)?)));
    let name = found.map(|(name, _)| name).or(input.names.first()).cloned().unwrap_or_default();
    let bound = |tensor| {
        let is_given = found.is_some();
        Arc::new(BoundInput { tensor, is_given, ..BoundInput::unread(index, &name) })
    };
    let fixed = input.shape.as_deref().and_then(fixed);
    let Some((_, found)) = found else {
        let bound = bound(None);
        let value = match (&input.default, fixed) {
            (Some(constant), _) => {
                let kind = Kind { element: constant.element, shape: constant.shape.clone().into() };
                Value::stored(kind, Storage::Constant(Arc::clone(constant)))
            }
            (None, Some(shape)) => Value::of_input(input.element, shape.into(), Arc::clone(&bound)),
            (None, None) => {
                let missing = Error::missing(&bound.name, Requirement::Shape);
                Value { element: input.element, ..Value::refused(missing) }
            }
        };
        return Ok((value, bound));
    };
    symbols.bind(input, &name, found.shape())?;
    let tensor = match found {
        Input::Shape(_) => None,
        Input::Tensor(tensor) => Some(typed(tensor, input.element, &name)?),
    };
    let element = input.element.or(tensor.as_ref().map(Tensor::element_type));
    let bound = bound(tensor);
    Ok((Value::of_input(element, found.shape().into(), Arc::clone(&bound)), bound))
}

/// The tensor with the declared type. NumPy has bfloat16 values as UINT16, and 4-bit integers as 8-bit ones.
pub(crate) fn typed(given: &Tensor, declared: Option<ElementType>, name: &str) -> Result<Tensor> {
    let found = given.element_type();
    match declared {
        Some(declared) if declared != found => {
            let carrier = declared.storage().map(ElementType::Dml);
            if declared != ElementType::Bool && carrier == Some(found) {
                let wrong = |error: Error| {
                    let accepted = declared.to_string();
                    Error::input(name, error.to_string(), "is not of the declared type", accepted)
                };
                return given.clone().cast_bits(declared).map_err(wrong);
            }
            let given = format!("{found} {}", tensor::text(given.shape()));
            Err(Error::input(name, given, "is not of the declared type", declared.to_string()))
        }
        _ => Ok(given.clone()),
    }
}
