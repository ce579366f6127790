//! Reports a model's inputs, nodes and outputs, and how its nodes would run.

use std::collections::{HashMap, HashSet};

use dml_core::{AbstractOperator, FeatureLevel};

mod flops;
mod open;

use crate::error::{Error, NodeName, Requirement, Result, shortened};
use crate::format::Format;
use crate::graph::value::{Content, Storage, Value};
use crate::graph::{
    Dimension, Evaluation, Graph, GraphInput, Node, ValueId, dimension_text, evaluate_as_run, fill,
    level,
};
use crate::inputs::Inputs;
use open::Guesses;

/// A model's inputs, nodes and outputs, found without running it.
#[derive(Clone, Debug)]
pub struct Report {
    /// The model's file format.
    pub format: Format,
    /// The model's inputs, or a script's resources.
    pub inputs: Vec<InputReport>,
    /// The model's nodes, in the file's order.
    pub nodes: Vec<NodeReport>,
    /// The model's outputs, or the resources that a script prints and writes.
    pub outputs: Vec<ValueReport>,
}

/// An input of a model.
#[derive(Clone, Debug)]
pub struct InputReport {
    /// Name, type and shape, as far as they are known.
    pub value: ValueReport,
    /// The requirement that a caller still has to meet; `None` if nothing is missing.
    pub requirement: Option<Requirement>,
}

/// A value, as far as it is known.
#[derive(Clone, Debug)]
pub struct ValueReport {
    /// The name.
    pub name: String,
    /// The type; `None` if it is open.
    pub element: Option<String>,
    /// The sizes of the dimensions; open ones are the model's name of the dimension, a range such as `1..4`, or
    /// `?`. `None` if the rank is open.
    pub shape: Option<Vec<String>>,
    /// The value's number in the model: equal numbers mean the same value. `None` for a script's resources.
    pub number: Option<usize>,
}

/// A node of a model.
#[derive(Clone, Debug)]
pub struct NodeReport {
    /// The node's operator and name.
    pub node: NodeName,
    /// The node's outputs.
    pub outputs: Vec<ValueReport>,
    /// How the node runs.
    pub support: NodeSupport,
    /// Arithmetic operations of the device: a product that is added to a sum counts 2, any other computed
    /// element 1, and a moved element 0. `None` if sizes are open.
    pub flops: Option<u64>,
    /// The [numbers](ValueReport::number) of the values that the node reads.
    pub inputs: Vec<usize>,
}

/// How a node runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeSupport {
    /// Evaluated on the host when inputs are bound.
    Host,
    /// No computation: outputs are views of the inputs' elements with other dimensions.
    Alias,
    /// An operator of DirectML, from a feature level on.
    Operator {
        /// The operator's name.
        operator: &'static str,
        /// The lowest level that accepts it.
        level: FeatureLevel,
    },
    /// Several operators of DirectML, from a feature level on.
    Operators {
        /// Their names, in the order in which they are executed.
        operators: Vec<&'static str>,
        /// The lowest level that accepts all of them.
        level: FeatureLevel,
    },
    /// Known only after a run has read device values, which this node or an earlier one needs.
    AfterReading(NodeName),
    /// Not run, for this reason.
    Unsupported(String),
    /// Depends on sizes or values that are not given.
    Open,
    /// Unknown, since this node, whose result it needs, does not run or is [open](Self::Open).
    Blocked(NodeName),
}

/// Reports on a graph with the inputs given.
pub(crate) fn graph(format: Format, graph: &Graph, inputs: &Inputs) -> Result<Report> {
    let known = evaluate_as_run(graph, inputs)?;
    let guesses = Guesses::of(graph, inputs);
    let operators = Operators::of(&known);
    let best = guesses.best(graph);
    let guessed = best.map(Operators::of).unwrap_or_default();
    let reporter = Reporter { known: &known, guesses: &guesses, best, operators, guessed };
    let requirements = reporter.guesses.requirements().iter();
    let lacking = lacking_values(graph, &known);
    Ok(Report {
        format,
        inputs: graph
            .inputs
            .iter()
            .zip(requirements)
            .map(|(input, requirement)| {
                let value = reporter.input(input);
                let is_lacking = lacking.contains(&value.name);
                let requirement = requirement.or(is_lacking.then_some(Requirement::Values));
                InputReport { value, requirement }
            })
            .collect(),
        nodes: graph
            .nodes
            .iter()
            .enumerate()
            .map(|(index, node)| reporter.node(index, node))
            .collect(),
        outputs: graph
            .outputs
            .iter()
            .map(|output| reporter.value(&output.name, output.value))
            .collect(),
    })
}

/// Names of the inputs whose values the host needs but which are not given.
fn lacking_values(graph: &Graph, known: &Evaluation) -> HashSet<String> {
    let outputs = graph.nodes.iter().flat_map(|node| node.outputs.iter().flatten());
    let lacking = |output: &ValueId| match known.value(*output).check() {
        Err(Error::Missing { name, requirement: Requirement::Values }) => Some(name),
        _ => None,
    };
    outputs.filter_map(lacking).collect()
}

struct Reporter<'a> {
    known: &'a Evaluation,
    guesses: &'a Guesses,
    /// The evaluation for the guess that refuses the fewest nodes.
    best: Option<&'a Evaluation>,
    operators: Operators,
    /// The operators of `best`.
    guessed: Operators,
}

/// The device operators of each node of the graph that has any, by the node's index.
#[derive(Default)]
pub(crate) struct Operators(HashMap<usize, Vec<AbstractOperator>>);

impl Operators {
    pub(crate) fn of(evaluation: &Evaluation) -> Self {
        let mut all: HashMap<usize, Vec<AbstractOperator>> = HashMap::new();
        for node in evaluation.device.all().iter() {
            if let Some(origin) = node.origin {
                all.entry(origin).or_default().push(node.operator.clone());
            }
        }
        Self(all)
    }

    /// The operators of the node with this index.
    pub(crate) fn of_node(&self, index: usize) -> Vec<AbstractOperator> {
        self.0.get(&index).cloned().unwrap_or_default()
    }
}

impl Reporter<'_> {
    fn node(&self, index: usize, node: &Node) -> NodeReport {
        let values = || node.outputs.iter().flatten().copied();
        let is_open = values().any(|output| is_open(self.known.value(output)));
        let (evaluation, operators) = match self.best {
            Some(guess) if is_open => (guess, &self.guessed),
            _ => (self.known, &self.operators),
        };
        let own = operators.of_node(index);
        let outputs = values().map(|output| self.value(&node.name.name, output)).collect();
        NodeReport {
            node: NodeName::clone(&node.name),
            outputs,
            flops: (!is_open).then(|| own.iter().map(flops::flops).fold(0, u64::saturating_add)),
            support: match values().next() {
                Some(_) => match support(node, evaluation, own) {
                    NodeSupport::Unsupported(_) if is_open && !self.is_refused(node) => {
                        NodeSupport::Open
                    }
                    known => known,
                },
                None => NodeSupport::Unsupported("it has no output".to_owned()),
            },
            inputs: node.inputs.iter().flatten().copied().collect(),
        }
    }

    /// Whether a node is refused whatever inputs are given.
    fn is_refused(&self, node: &Node) -> bool {
        let mut outputs = node.outputs.iter().flatten();
        node.op.is_err() || outputs.any(|output| self.guesses.agree_to_refuse(*output))
    }

    fn value(&self, name: &str, value: ValueId) -> ValueReport {
        let known = self.known.value(value);
        let sizes = |shape: &[u64]| shape.iter().map(ToString::to_string).collect();
        let element = known.element.or_else(|| self.guesses.element(value));
        // A guess gives no size that only a run can tell.
        let is_read = known.check().is_err_and(|error| reader(self.known, &error).is_some());
        let guessed = || self.guesses.shape(value).filter(|_| !is_read);
        ValueReport {
            name: shortened(name),
            element: element.map(|element| element.to_string()),
            shape: known.shape.as_deref().map(sizes).or_else(guessed),
            number: Some(value),
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

/// The node that has to read a device value, if that is the cause of `error`.
fn reader(evaluation: &Evaluation, error: &Error) -> Option<NodeName> {
    let questions = evaluation.device.questions();
    let asks = |name: &&NodeName| {
        questions.iter().any(|question| question.answer.is_none() && *question.node == **name)
    };
    error.node().filter(asks).cloned()
}

fn is_open(value: &Value) -> bool {
    matches!(&value.content, Content::Refused(error) if matches!(**error, Error::Missing { .. }))
}

/// How a node that has these device operators runs.
pub(crate) fn support(
    node: &Node,
    evaluation: &Evaluation,
    mut operators: Vec<AbstractOperator>,
) -> NodeSupport {
    let values = || node.outputs.iter().flatten().map(|output| evaluation.value(*output));
    if let Some(error) = values().find_map(|value| value.check().err()) {
        if let Some(reader) = reader(evaluation, &error) {
            return NodeSupport::AfterReading(reader);
        }
        return match error.node().filter(|other| **other != *node.name) {
            Some(other) => NodeSupport::Blocked(other.clone()),
            None => NodeSupport::Unsupported(error.to_string()),
        };
    }
    if operators.is_empty() {
        for value in values().filter(|value| !value.is_empty()) {
            let (Content::Fill(bits), Ok(kind)) = (&value.content, value.kind()) else { continue };
            match fill(&node.name, &kind, *bits) {
                Ok(operator) => operators.push(operator),
                Err(error) => return NodeSupport::Unsupported(error.to_string()),
            }
        }
    }
    let levels: Option<Vec<FeatureLevel>> = operators.iter().map(level).collect();
    let highest = levels.map(|level| level.into_iter().max());
    match (operators.as_slice(), highest) {
        (_, None) => NodeSupport::Unsupported("not supported at any feature level".to_owned()),
        ([only], Some(Some(level))) => {
            NodeSupport::Operator { operator: only.schema().name, level }
        }
        ([], _) | (_, Some(None)) => {
            let is_alias = |it: &Value| {
                it.view().is_some_and(|view| {
                    matches!(view.storage, Storage::Device { .. } | Storage::Input(_))
                })
            };
            if values().any(is_alias) { NodeSupport::Alias } else { NodeSupport::Host }
        }
        (all, Some(Some(level))) => {
            let operators = all.iter().map(|it| it.schema().name).collect();
            NodeSupport::Operators { operators, level }
        }
    }
}
