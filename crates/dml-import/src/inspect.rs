//! What a model has, and what would run it.

use dml_core::{FeatureLevel, schema};

use crate::element::ElementType;
use crate::error::{Error, NodeName, Result};
use crate::graph::value::{Content, Value};
use crate::graph::{Dimension, Evaluation, Graph, GraphInput, declared_text, evaluate};
use crate::inputs::Inputs;
use crate::lower;
use crate::model::Format;
use crate::tensor::Tensor;

/// What a model has, without running it.
#[derive(Clone, Debug)]
pub struct Report {
    /// What it was made for.
    pub format: Format,
    /// Its inputs, or a script's resources.
    pub inputs: Vec<ValueReport>,
    /// Its nodes, in the file's order.
    pub nodes: Vec<NodeReport>,
    /// Its outputs, or what a script prints and writes.
    pub outputs: Vec<ValueReport>,
}

/// A value, as far as it is known.
#[derive(Clone, Debug)]
pub struct ValueReport {
    /// The name.
    pub name: String,
    /// The type; `None` where it is open.
    pub element: Option<String>,
    /// The shape, with names, `?` or ranges for what is open.
    pub shape: String,
}

/// A node.
#[derive(Clone, Debug)]
pub struct NodeReport {
    /// Its operator and name.
    pub node: NodeName,
    /// Its outputs.
    pub outputs: Vec<ValueReport>,
    /// What runs it.
    pub runs: Runs,
}

/// What runs a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Runs {
    /// The host, when inputs are bound.
    Host,
    /// An operator of DirectML, from a feature level on.
    Operator {
        /// The operator's name.
        operator: &'static str,
        /// The lowest level that accepts it.
        level: FeatureLevel,
    },
    /// Nothing: this is why.
    Not(String),
}

/// Looks at a graph with the inputs given.
pub(crate) fn graph(format: Format, graph: &Graph, inputs: &Inputs) -> Result<Report> {
    let known = evaluate(graph, inputs, true)?;
    // What a node is run by seldom depends on sizes: open ones are 1 for that question.
    let assumed = evaluate(graph, &assumed(graph, inputs), true).ok();
    let node = |node: &crate::graph::Node| {
        let values = node.outputs.iter().map(|output| known.value(*output));
        let runs = match node.outputs.first() {
            Some(output) => {
                let value = known.value(*output);
                let open = is_open(value);
                let assumed = assumed.as_ref().filter(|_| open).map(|it| it.value(*output));
                runs(&node.name, assumed.unwrap_or(value))
            }
            None => Runs::Not("it has no output".to_owned()),
        };
        let outputs = values.map(|value| report(&node.name.name, value)).collect();
        NodeReport { node: node.name.clone(), outputs, runs }
    };
    Ok(Report {
        format,
        inputs: graph.inputs.iter().map(|input| input_report(input, &known)).collect(),
        nodes: graph.nodes.iter().map(node).collect(),
        outputs: graph
            .outputs
            .iter()
            .map(|output| report(&output.name, known.value(output.value)))
            .collect(),
    })
}

fn input_report(input: &GraphInput, known: &Evaluation) -> ValueReport {
    let name = input.names.first().cloned().unwrap_or_default();
    let report = report(&name, known.value(input.value));
    let declared = input.shape.as_deref().map(declared_text);
    match known.value(input.value).shape {
        Some(_) => report,
        None => ValueReport { shape: declared.unwrap_or("[...]".to_owned()), ..report },
    }
}

fn report(name: &str, value: &Value) -> ValueReport {
    ValueReport {
        name: crate::error::shortened(name),
        element: value.element.map(|element| element.to_string()),
        shape: value.shape.as_deref().map_or("?".to_owned(), crate::tensor::text),
    }
}

fn is_open(value: &Value) -> bool {
    matches!(&value.content, Content::Refused(error) if matches!(**error, Error::Missing { .. }))
}

fn runs(node: &NodeName, value: &Value) -> Runs {
    let operator = match (&value.content, value.element, value.shape.as_deref()) {
        (Content::Refused(error), _, _) => return Runs::Not(error.to_string()),
        (Content::Band(band), Some(element), Some(shape)) if !shape.contains(&0) => {
            lower::band(band, element)
        }
        (Content::Fill(bits), Some(element), Some(shape)) if !shape.contains(&0) => {
            lower::fill(node, element, shape, *bits)
        }
        _ => return Runs::Host,
    };
    let lowest = |operator: dml_core::AbstractOperator| {
        let schema: &'static schema::OperatorSchema = operator.schema();
        lower::lowest(vec![operator]).map(|(level, _)| (schema.name, level))
    };
    match operator.map(lowest) {
        Ok(Some((operator, level))) => Runs::Operator { operator, level },
        Ok(None) => Runs::Not("no feature level accepts it".to_owned()),
        Err(error) => Runs::Not(error.to_string()),
    }
}

/// The inputs given, and for the others ones of size 1 that hold 1.
fn assumed(graph: &Graph, given: &Inputs) -> Inputs {
    let mut inputs = given.clone();
    for input in &graph.inputs {
        let is_given = input.names.iter().any(|name| given.get(name).is_some());
        let Some(name) = input.names.first().filter(|_| !is_given) else { continue };
        let size = |dimension: &Dimension| match dimension {
            Dimension::Known(size) => *size,
            Dimension::Named(_) => 1,
            Dimension::Range(first, last) => 1.clamp(*first, (*last).max(*first)),
        };
        let shape = input.shape.as_ref().map(|shape| shape.iter().map(size).collect());
        let shape: Vec<u64> = shape.unwrap_or_else(|| vec![1, 1]);
        let element = input.element.filter(|element| element.storage().is_some());
        let element = element.unwrap_or(ElementType::FLOAT32);
        match Tensor::filled(element, shape.clone(), element.one()) {
            Ok(tensor) if input.element.is_none_or(|it| it == element) => {
                inputs = inputs.with_tensor(name, tensor);
            }
            _ => inputs = inputs.with_shape(name, shape),
        }
    }
    inputs
}
