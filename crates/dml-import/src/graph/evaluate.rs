//! Finds the shape, type and origin of every value for the inputs that are bound.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::element::ElementType;
use crate::error::{Error, Requirement, Result};
use crate::graph::ops::{Budget, Operands};
use crate::graph::order::{needed, topological};
use crate::graph::symbols::{Symbols, fixed};
use crate::graph::value::{BoundInput, Content, Value};
use crate::graph::{Graph, GraphInput, Node};
use crate::inputs::{Input, Inputs};
use crate::tensor::Tensor;
use crate::{limits, tensor};

/// What is known of every value. Refusals are values, so that what nothing depends on does no harm.
pub(crate) struct Evaluation {
    values: Vec<Value>,
    /// The inputs, in the graph's order.
    pub(crate) inputs: Vec<Arc<BoundInput>>,
}

impl Evaluation {
    /// The value with a number of the graph.
    pub(crate) fn value(&self, value: usize) -> &Value {
        &self.values[value]
    }
}

/// Evaluates the nodes that the outputs depend on, or every node.
///
/// # Errors
/// What is wrong with the inputs given, or with the graph as a whole.
pub(crate) fn evaluate(graph: &Graph, given: &Inputs, every_node: bool) -> Result<Evaluation> {
    known_names(graph, given)?;
    let order = topological(graph)?;
    let needed = needed(graph, &order);
    let mut values = vec![None; graph.value_count];
    let mut symbols = Symbols::default();
    let mut inputs = Vec::new();
    let budget = Budget::default();
    for (index, input) in graph.inputs.iter().enumerate() {
        let (value, bound) = bind(input, index, given, &mut symbols)?;
        values[input.value] = Some(value);
        inputs.push(bound);
    }
    for index in order.into_iter().filter(|index| every_node || needed[*index]) {
        let node = &graph.nodes[index];
        let value = evaluate_node(node, &values, &budget).unwrap_or_else(Value::refused);
        for output in &node.outputs {
            values[*output] = Some(value.clone());
        }
    }
    let unknown = || Value::refused(Error::malformed("nothing produces the value"));
    let values = values.into_iter().map(|value| value.unwrap_or_else(unknown)).collect();
    Ok(Evaluation { values, inputs })
}

fn evaluate_node(node: &Node, values: &[Option<Value>], budget: &Budget) -> Result<Value> {
    let op = node.op.as_ref().map_err(Clone::clone)?;
    let value = |id: &Option<usize>| id.and_then(|id| values[id].as_ref());
    let values = node.inputs.iter().map(value).collect();
    let value = op.evaluate(&Operands { node: &node.name, values, budget })?;
    if let Content::Tensor(tensor) = &value.content {
        budget.take(tensor.shape())?;
    }
    match &value.shape {
        Some(shape) if shape.len() > limits::RANK => {
            let (rank, accepted) = (shape.len(), format!("up to {}", limits::RANK));
            Err(node.name.invalid("output", rank, "dimensions are too many", accepted))
        }
        _ => Ok(value),
    }
}

fn known_names(graph: &Graph, given: &Inputs) -> Result<()> {
    let known = |name: &str| graph.inputs.iter().any(|it| it.names.iter().any(|it| it == name));
    let Some((name, _)) = given.iter().find(|(name, _)| !known(name)) else { return Ok(()) };
    let names: Vec<&str> =
        graph.inputs.iter().filter_map(|it| it.names.first()).map(String::as_str).collect();
    let accepted = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    Err(Error::input(name, "it", "is no input of the model", accepted))
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
        let read = AtomicBool::new(false);
        Arc::new(BoundInput { index, name: name.clone(), tensor, read })
    };
    let fixed = input.shape.as_deref().and_then(fixed);
    let Some((_, found)) = found else {
        let bound = bound(None);
        let value = match (&input.default, fixed) {
            (Some(constant), _) => {
                let content = Content::Constant(Arc::new(constant.clone()));
                Value::new(constant.element, constant.shape.clone(), content)
            }
            (None, Some(shape)) => {
                let content = Content::Input(Arc::clone(&bound));
                Value::of_input(input.element, shape, content)
            }
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
    let content = Content::Input(Arc::clone(&bound));
    Ok((Value::of_input(element, found.shape().to_vec(), content), bound))
}

/// The tensor as the declared type. bfloat16 is given as UINT16 where it comes from NumPy.
pub(crate) fn typed(given: &Tensor, declared: Option<ElementType>, name: &str) -> Result<Tensor> {
    let found = given.element_type();
    match declared {
        Some(declared) if declared != found => {
            let uint16 = ElementType::Dml(dml_core::DataType::Uint16);
            if declared == ElementType::Bfloat16 && found == uint16 {
                return Ok(given.clone().with_element(declared));
            }
            let given = format!("{found} {}", tensor::text(given.shape()));
            Err(Error::input(name, given, "is not of the declared type", declared.to_string()))
        }
        _ => Ok(given.clone()),
    }
}
