//! What a model has, and what would run it.

use dml_core::{FeatureLevel, schema};

mod open;

use crate::error::{Error, NodeName, Requirement, Result, shortened};
use crate::format::Format;
use crate::graph::value::{Content, Value};
use crate::graph::{
    Dimension, Evaluation, Graph, GraphInput, Node, ValueId, dimension_text, evaluate,
};
use crate::inputs::Inputs;
use crate::lower;
use open::Guesses;

/// What a model has, without running it.
#[derive(Clone, Debug)]
pub struct Report {
    /// What it was made for.
    pub format: Format,
    /// Its inputs, or a script's resources.
    pub inputs: Vec<InputReport>,
    /// Its nodes, in the file's order.
    pub nodes: Vec<NodeReport>,
    /// Its outputs, or what a script prints and writes.
    pub outputs: Vec<ValueReport>,
}

/// An input.
#[derive(Clone, Debug)]
pub struct InputReport {
    /// What is known of it.
    pub value: ValueReport,
    /// What has to be given for it; `None` where nothing is missing.
    pub requirement: Option<Requirement>,
}

/// A value, as far as it is known.
#[derive(Clone, Debug)]
pub struct ValueReport {
    /// The name.
    pub name: String,
    /// The type; `None` where it is open.
    pub element: Option<String>,
    /// The sizes of the dimensions: for an open one the model's name of it, a range such as `1..4`, or
    /// `?`. `None` where even their number is open.
    pub shape: Option<Vec<String>>,
}

/// A node.
#[derive(Clone, Debug)]
pub struct NodeReport {
    /// Its operator and name.
    pub node: NodeName,
    /// Its outputs.
    pub outputs: Vec<ValueReport>,
    /// What runs it.
    pub support: NodeSupport,
}

/// What runs a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeSupport {
    /// The host, when inputs are bound.
    Host,
    /// An operator of DirectML, from a feature level on.
    Operator {
        /// The operator's name.
        operator: &'static str,
        /// The lowest level that accepts it.
        level: FeatureLevel,
    },
    /// Nothing, for this reason.
    Unsupported(String),
}

/// Looks at a graph with the inputs given.
pub(crate) fn graph(format: Format, graph: &Graph, inputs: &Inputs) -> Result<Report> {
    let known = evaluate(graph, inputs, true)?;
    let reporter = Reporter { known, guesses: Guesses::of(graph, inputs) };
    let requirements = reporter.guesses.requirements().iter();
    Ok(Report {
        format,
        inputs: graph
            .inputs
            .iter()
            .zip(requirements)
            .map(|(input, it)| InputReport { value: reporter.input(input), requirement: *it })
            .collect(),
        nodes: graph.nodes.iter().map(|node| reporter.node(node)).collect(),
        outputs: graph
            .outputs
            .iter()
            .map(|output| reporter.value(&output.name, output.value))
            .collect(),
    })
}

struct Reporter {
    known: Evaluation,
    guesses: Guesses,
}

impl Reporter {
    fn node(&self, node: &Node) -> NodeReport {
        let support = match node.outputs.first() {
            Some(output) => {
                let value = self.known.value(*output);
                let guess = self.guesses.value(*output).filter(|_| is_open(value));
                support(&node.name, guess.unwrap_or(value))
            }
            None => NodeSupport::Unsupported("it has no output".to_owned()),
        };
        let outputs = node.outputs.iter().map(|output| self.value(&node.name.name, *output));
        NodeReport { node: node.name.clone(), outputs: outputs.collect(), support }
    }

    fn value(&self, name: &str, value: ValueId) -> ValueReport {
        let known = self.known.value(value);
        let sizes = |shape: &Vec<u64>| shape.iter().map(ToString::to_string).collect();
        let element = known.element.or_else(|| self.guesses.element(value));
        ValueReport {
            name: shortened(name),
            element: element.map(|element| element.to_string()),
            shape: known.shape.as_ref().map(sizes).or_else(|| self.guesses.shape(value)),
        }
    }

    fn input(&self, input: &GraphInput) -> ValueReport {
        let name = input.names.first().map_or("", String::as_str);
        let mut report = self.value(name, input.value);
        if self.known.value(input.value).shape.is_none() {
            let declared = |shape: &Vec<Dimension>| shape.iter().map(dimension_text).collect();
            report.shape = input.shape.as_ref().map(declared);
        }
        report
    }
}

fn is_open(value: &Value) -> bool {
    matches!(&value.content, Content::Refused(error) if matches!(**error, Error::Missing { .. }))
}

fn support(node: &NodeName, value: &Value) -> NodeSupport {
    let operator = match (&value.content, value.element, value.shape.as_deref()) {
        (Content::Refused(error), _, _) => return NodeSupport::Unsupported(error.to_string()),
        (Content::Band(band), Some(element), Some(shape)) if !shape.contains(&0) => {
            lower::band(band, element)
        }
        (Content::Fill(bits), Some(element), Some(shape)) if !shape.contains(&0) => {
            lower::fill(node, element, shape, *bits)
        }
        _ => return NodeSupport::Host,
    };
    let lowest = |operator: dml_core::AbstractOperator| {
        let schema: &'static schema::OperatorSchema = operator.schema();
        lower::lowest(vec![operator]).map(|(level, _)| (schema.name, level))
    };
    match operator.map(lowest) {
        Ok(Some((operator, level))) => NodeSupport::Operator { operator, level },
        Ok(None) => NodeSupport::Unsupported("no feature level accepts it".to_owned()),
        Err(error) => NodeSupport::Unsupported(error.to_string()),
    }
}
