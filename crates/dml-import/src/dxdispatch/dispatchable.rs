//! Dispatchables: named operators, graphs and models that commands execute.

use std::sync::Arc;

use dml_core::graph::NodeKind;
use dml_core::{AbstractOperator, FeatureLevel, GraphDesc, json, validate_graph};
use serde_json::{Map, Value};

use crate::error::{Error, NodeName, Result, shortened};
use crate::files::Folder;
use crate::program::{Program, Work};

use super::json::{Fields, refused};
use super::model;
use super::points::Points;

type Object = Map<String, Value>;

/// A dispatchable, or the error that explains why it is not valid.
#[derive(Debug)]
pub(super) struct Dispatchable {
    pub(super) name: String,
    pub(super) node: NodeName,
    pub(super) content: Result<Content>,
    /// The bindings of its initialization, before the first command.
    pub(super) bindings: Option<Value>,
    /// The number of values in its JSON, which a graph that names it has to copy.
    weight: usize,
}

/// The work of a dispatchable, and its tensors.
#[derive(Debug)]
pub(super) struct Content {
    pub(super) task: Task,
    pub(super) points: Points,
}

/// The work of a dispatchable.
#[derive(Clone, Debug)]
pub(super) enum Task {
    /// One execution of a compiled operator or graph.
    Work(Work),
    /// All steps of an ONNX model.
    Model(Arc<Program>),
}

/// Kinds of dispatchables that are not DirectML operators.
const OTHER_KINDS: [&str; 2] = ["hlsl", "dmlserializedgraph"];

/// Fields beside an operator that are not part of it.
const BINDINGS: &str = "bindings";
const EXECUTION_FLAGS: &str = "executionFlags";
const COMPILE_TYPE: &str = "dmlCompileType";

/// DML_EXECUTION_FLAGS. None of them affects a result, and every command is recorded anew, so that descriptors
/// may change.
const FLAGS: [&str; 4] =
    ["NONE", "ALLOW_HALF_PRECISION_COMPUTATION", "DISABLE_META_COMMANDS", "DESCRIPTORS_VOLATILE"];

/// The most JSON values in all operators that graph nodes name; each node is a copy.
const GRAPH_VALUES: usize = 1 << 20;

/// The most inputs of all graphs: a file declares any number of inputs in a few bytes.
const GRAPH_INPUTS: usize = 1 << 20;

/// Reads all dispatchables, and sorts them by name: operators first, since graphs name them. ONNX models are in
/// `folder`.
pub(super) fn read(all: Object, folder: Option<&Folder>) -> Vec<Dispatchable> {
    let (graphs, operators): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|(_, json)| is_graph(&plain_kind(json)));
    let operators = operators.into_iter().map(|(name, json)| match plain_kind(&json).as_str() {
        "onnx" => onnx(&name, json, folder),
        _ => operator(&name, json),
    });
    let mut all: Vec<Dispatchable> = operators.collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    let mut library = Library { operators: &all, weight: 0, inputs: 0, error: None };
    let graphs = graphs.into_iter().map(|(name, json)| graph(&name, json, &mut library));
    let graphs: Vec<Dispatchable> = graphs.collect();
    all.extend(graphs);
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

fn kind(json: &Value) -> &str {
    json.get("type").or(json.get("Type")).and_then(Value::as_str).unwrap_or("no type")
}

fn plain_kind(json: &Value) -> String {
    kind(json).to_ascii_lowercase().replace('_', "")
}

fn is_graph(plain_kind: &str) -> bool {
    matches!(plain_kind, "dmlgraphdesc" | "dmlgraph" | "graphdesc" | "graph")
}

fn operator(name: &str, mut json: Value) -> Dispatchable {
    let operator_type = kind(&json);
    let short = operator_type.strip_prefix("DML_OPERATOR_").unwrap_or(operator_type);
    let node = NodeName::new(short, name);
    let is_other = OTHER_KINDS.contains(&plain_kind(&json).as_str());
    let beside = Beside::take(name, &mut json);
    let content = if is_other {
        Err(node.not_supported("it is not a DirectML operator"))
    } else {
        let operator = json::operator(&json).map_err(|error| refusal(&node, error));
        operator.map(|operator| {
            let points = Points::of_operator(&operator);
            Content { task: Task::Work(operator.into()), points }
        })
    };
    let (content, bindings) = beside.with(content);
    Dispatchable { name: name.to_owned(), node, content, bindings, weight: values(&json) }
}

fn onnx(name: &str, mut json: Value, folder: Option<&Folder>) -> Dispatchable {
    let node = NodeName::new("ONNX", name);
    let beside = Beside::take(name, &mut json);
    let content = model::read(&node, &json, folder).map(|program| {
        let points = Points::of_model(&program);
        Content { task: Task::Model(program), points }
    });
    let (content, bindings) = beside.with(content);
    Dispatchable { name: name.to_owned(), node, content, bindings, weight: 0 }
}

fn graph(name: &str, mut json: Value, library: &mut Library<'_>) -> Dispatchable {
    let node = NodeName::new("GRAPH", name);
    let beside = Beside::take(name, &mut json);
    let (content, bindings) = beside.with(graph_content(&node, &json, library));
    Dispatchable { name: name.to_owned(), node, content, bindings, weight: 0 }
}

fn graph_content(node: &NodeName, json: &Value, library: &mut Library<'_>) -> Result<Content> {
    let path = format!("dispatchables.{}", node.name);
    let fields = Fields::of(path, json)?;
    // How the graph is to be compiled does not matter to this runtime.
    let known = ["type", "Type", "desc", "Desc", COMPILE_TYPE];
    if let Some(key) = fields.object.keys().find(|key| !known.contains(&key.as_str())) {
        return Err(fields.refused(key, "is given for an unknown field", known.join(", ")));
    }
    let desc = if fields.get("Desc").is_some() { "Desc" } else { "desc" };
    let desc = fields.required(desc)?;
    let graph = json::graph_with(desc, |name| library.operator(name));
    if let Some(error) = library.error.take() {
        return Err(error);
    }
    let mut graph = graph.map_err(|error| refusal(node, error))?;
    library.inputs = library.inputs.saturating_add(graph.input_count as usize);
    if library.inputs > GRAPH_INPUTS {
        let path = format!("{}.InputCount", fields.at("desc"));
        let accepted = format!("up to {GRAPH_INPUTS} inputs of all graphs");
        return Err(refused(&path, &graph.input_count.into(), "is too many", accepted));
    }
    name_nodes(&mut graph, desc);
    let validated = validate_graph(&graph, FeatureLevel::HIGHEST);
    let validated = validated.map_err(|error| refusal(node, error))?;
    let points = Points::of_graph(&graph, &validated);
    let nodes = graph.nodes.iter().map(|node| match &node.kind {
        NodeKind::Operator(operator) => NodeName::new(operator.schema().name, &*node.name),
        NodeKind::Constant(_) => NodeName::new("CONSTANT", &*node.name),
    });
    let nodes = nodes.map(Arc::new).collect();
    let task = Task::Work(Work::Graph { desc: Arc::new(graph), nodes });
    Ok(Content { task, points })
}

/// Gives unnamed nodes the name of their operator.
fn name_nodes(graph: &mut GraphDesc, desc: &Value) {
    let nodes = desc.get("Nodes").and_then(Value::as_array).into_iter().flatten();
    for (node, json) in graph.nodes.iter_mut().zip(nodes) {
        let named = json.get("Operator").and_then(Value::as_str);
        if let Some(name) = named.filter(|_| node.name.is_empty()) {
            node.name = shortened(name).into();
        }
    }
}

/// The operators that graph nodes may name.
struct Library<'a> {
    operators: &'a [Dispatchable],
    /// The number of JSON values copied so far.
    weight: usize,
    /// The number of graph inputs so far.
    inputs: usize,
    /// The reason why the last name has no operator, if it is known.
    error: Option<Error>,
}

impl Library<'_> {
    fn operator(&mut self, name: &str) -> Option<AbstractOperator> {
        let found = self.operators.binary_search_by(|it| it.name.as_str().cmp(name)).ok()?;
        let found = &self.operators[found];
        self.weight = self.weight.saturating_add(found.weight);
        if self.weight > GRAPH_VALUES {
            let problem = "the operators that nodes of graphs name are too large";
            let accepted = format!("up to {GRAPH_VALUES} values in all nodes");
            self.error = Some(Error::malformed(format!("{problem}; accepted: {accepted}")));
            return None;
        }
        match &found.content {
            Ok(Content { task: Task::Work(Work::Operator(operator)), .. }) => {
                Some(operator.clone())
            }
            Ok(_) => None,
            Err(error) => {
                self.error = Some(error.clone());
                None
            }
        }
    }
}

/// Fields beside an operator or a graph.
struct Beside {
    bindings: Option<Value>,
    /// The error of invalid flags.
    error: Option<Error>,
}

impl Beside {
    /// Removes these fields from the object, which other parsers then accept.
    fn take(name: &str, json: &mut Value) -> Self {
        let Some(object) = json.as_object_mut() else {
            return Self { bindings: None, error: None };
        };
        let flags = object.remove(EXECUTION_FLAGS).filter(|it| !it.is_null());
        let path = format!("dispatchables.{}.{EXECUTION_FLAGS}", shortened(name));
        let error = flags.and_then(|flag| check_flags(&path, &flag).err());
        Self { bindings: object.remove(BINDINGS).filter(|it| !it.is_null()), error }
    }

    fn with(self, content: Result<Content>) -> (Result<Content>, Option<Value>) {
        (self.error.map_or(content, Err), self.bindings)
    }
}

/// Checks a flag, or an array of flags.
fn check_flags(path: &str, json: &Value) -> Result<()> {
    let flags = json.as_array().map_or(std::slice::from_ref(json), Vec::as_slice);
    let is_known = |flag: &Value| {
        let name = flag.as_str().map(str::to_ascii_uppercase).unwrap_or_default();
        FLAGS.contains(&name.strip_prefix("DML_EXECUTION_FLAG_").unwrap_or(&name))
    };
    match flags.iter().find(|flag| !is_known(flag)) {
        None => Ok(()),
        Some(flag) => Err(refused(path, flag, "is not an execution flag", FLAGS.join(", "))),
    }
}

fn refusal(node: &NodeName, error: dml_core::Error) -> Error {
    Error::Operator { node: node.clone(), error: Box::new(error) }
}

/// The number of values in JSON. Its nesting depth is limited by the parser.
fn values(json: &Value) -> usize {
    1 + match json {
        Value::Array(items) => items.iter().map(values).sum(),
        Value::Object(fields) => fields.values().map(values).sum::<usize>(),
        _ => 0,
    }
}
