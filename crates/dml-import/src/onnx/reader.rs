//! From an ONNX graph to the common form.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use crate::element::ElementType;
use crate::error::{Error, NodeName, Result, shortened};
use crate::graph::{Dimension, Graph, GraphInput, GraphOutput, Literal, Node, Op, ValueId};
use crate::limits;

use super::attributes::Attributes;
use super::operators::{ROWS, Row};
use super::proto::{DimensionProto, GraphProto, ModelProto, NodeProto, ValueInfoProto};
use super::tensor;

/// The graph of a model.
pub(super) fn graph(model: &ModelProto, folder: Option<&Path>) -> Result<Graph> {
    let proto = model.graph.as_ref();
    let proto = proto.ok_or_else(|| Error::malformed("is no ONNX model: it has no graph"))?;
    let mut reader = Reader { model, folder, opset: opset(model)?, ..Reader::new(model) };
    reader.inputs(proto)?;
    for node in &proto.node {
        for output in node.output.iter().filter(|name| !name.is_empty()) {
            reader.define(output)?;
        }
    }
    for node in &proto.node {
        let node = reader.node(node)?;
        reader.graph.nodes.push(node);
    }
    for output in &proto.output {
        let value = reader.find(&output.name, "the graph's output")?;
        reader.graph.outputs.push(GraphOutput { name: output.name.clone(), value });
    }
    if reader.graph.outputs.is_empty() {
        return Err(Error::malformed("the graph has no outputs"));
    }
    reader.graph.value_count = reader.values.len();
    Ok(reader.graph)
}

/// The version of ai.onnx that the model was made for.
fn opset(model: &ModelProto) -> Result<i64> {
    let default = model.opset_import.iter().find(|it| is_default(&it.domain));
    let version = default
        .map(|it| it.version)
        .ok_or_else(|| Error::malformed("opset_import names no version of ai.onnx"))?;
    if version < 1 {
        let problem =
            format!("opset_import: ai.onnx {version} is no version; accepted: 1 and later");
        return Err(Error::Malformed(problem));
    }
    Ok(version)
}

fn is_default(domain: &str) -> bool {
    matches!(domain, "" | "ai.onnx")
}

struct Reader<'a> {
    model: &'a ModelProto,
    folder: Option<&'a Path>,
    opset: i64,
    graph: Graph,
    values: HashMap<String, ValueId>,
}

impl<'a> Reader<'a> {
    fn new(model: &'a ModelProto) -> Self {
        let (graph, values) = (Graph::default(), HashMap::new());
        Self { model, folder: None, opset: 1, graph, values }
    }

    fn define(&mut self, name: &str) -> Result<ValueId> {
        let value = self.values.len();
        match self.values.insert(name.to_owned(), value) {
            None => Ok(value),
            Some(_) => Err(Error::malformed(format!("'{}' is defined twice", shortened(name)))),
        }
    }

    fn find(&self, name: &str, user: &str) -> Result<ValueId> {
        self.values.get(name).copied().ok_or_else(|| {
            let name = shortened(name);
            Error::malformed(format!("{user}: '{name}' is neither an input nor a node's output"))
        })
    }

    /// Inputs and initializers. Where both have a name, the initializer is the input's default.
    fn inputs(&mut self, proto: &GraphProto) -> Result<()> {
        let mut constants = HashMap::new();
        for proto in &proto.initializer {
            let constant = tensor::constant(proto, self.folder)?;
            if constants.insert(proto.name.as_str(), constant).is_some() {
                let name = shortened(&proto.name);
                return Err(Error::malformed(format!("initializer '{name}' is there twice")));
            }
        }
        for info in &proto.input {
            let value = self.define(&info.name)?;
            let (element, shape) = declared(info)?;
            let default = constants.remove(info.name.as_str());
            let names = vec![info.name.clone()];
            self.graph.inputs.push(GraphInput { names, value, element, shape, default });
        }
        // In the file's order, so that reports do not depend on a hash.
        for proto in &proto.initializer {
            if let Some(constant) = constants.remove(proto.name.as_str()) {
                let value = self.define(&proto.name)?;
                self.graph.nodes.push(Node {
                    name: NodeName::new("Initializer", &proto.name),
                    op: Ok(Box::new(Literal(Arc::new(constant)))),
                    inputs: vec![],
                    outputs: vec![value],
                });
            }
        }
        Ok(())
    }

    fn node(&self, proto: &NodeProto) -> Result<Node> {
        let first = proto.output.iter().find(|name| !name.is_empty()).cloned().unwrap_or_default();
        let name = if proto.name.is_empty() { &first } else { &proto.name };
        let name = NodeName::new(&proto.op_type, name);
        let user = name.to_string();
        let input =
            |input: &String| (!input.is_empty()).then(|| self.find(input, &user)).transpose();
        let mut inputs = proto.input.iter().map(input).collect::<Result<Vec<Option<ValueId>>>>()?;
        // An empty name at the end is an input left out.
        while inputs.last() == Some(&None) {
            inputs.pop();
        }
        let outputs = proto.output.iter().filter_map(|it| self.values.get(it).copied()).collect();
        let op = self.op(&name, proto, inputs.len());
        Ok(Node { name, op, inputs, outputs })
    }

    fn op(&self, name: &NodeName, proto: &NodeProto, inputs: usize) -> Result<Box<dyn Op>> {
        let row = self.row(name, proto)?;
        if !row.inputs.contains(&inputs) {
            let accepted = counts(row);
            return Err(name.invalid("inputs", inputs, "is the wrong number", accepted));
        }
        if proto.output.len() != 1 {
            return Err(name.invalid("outputs", proto.output.len(), "is the wrong number", "1"));
        }
        let attributes = Attributes::new(name, proto, row.attributes, self.folder)?;
        (row.build)(&attributes)
    }

    fn row(&self, name: &NodeName, proto: &NodeProto) -> Result<&'static Row> {
        let domain = shortened(&proto.domain);
        let functions = &self.model.functions;
        if functions.iter().any(|it| it.name == proto.op_type && it.domain == proto.domain) {
            return Err(name
                .not_supported("it is a function of the model, which this runtime does not run"));
        }
        if !is_default(&domain) {
            return Err(name.not_supported(format!("no operator of the domain '{domain}' is run")));
        }
        let rows = || ROWS.iter().filter(|row| row.name == proto.op_type);
        let opset = self.opset;
        rows().filter(|row| row.since <= opset).max_by_key(|row| row.since).ok_or_else(|| {
            match rows().map(|row| row.since).min() {
                Some(since) => {
                    let accepted = format!("{since} and later");
                    name.invalid(
                        "opset_import",
                        format!("ai.onnx {opset}"),
                        "is too early",
                        accepted,
                    )
                }
                None => name.not_supported("this runtime has no operator for it"),
            }
        })
    }
}

fn counts(row: &Row) -> String {
    match (*row.inputs.start(), *row.inputs.end()) {
        (first, last) if first == last => first.to_string(),
        (first, usize::MAX) => format!("{first} and more"),
        (first, last) => format!("{first} to {last}"),
    }
}

/// The type and the shape that the model declares.
fn declared(info: &ValueInfoProto) -> Result<(Option<ElementType>, Option<Vec<Dimension>>)> {
    let Some(kind) = &info.r#type else { return Ok((None, None)) };
    let Some(tensor) = &kind.tensor_type else {
        return Ok((Some(ElementType::Other("no tensor")), None));
    };
    let shape = tensor.shape.as_ref().map(|shape| shape.dim.as_slice());
    if shape.is_some_and(|shape| shape.len() > limits::RANK) {
        let name = shortened(&info.name);
        let problem = format!("'{name}' has more than {} dimensions", limits::RANK);
        return Err(Error::Malformed(problem));
    }
    let shape = shape.map(|shape| shape.iter().map(dimension).collect());
    Ok((tensor::element(tensor.elem_type.into()), shape))
}

fn dimension(proto: &DimensionProto) -> Dimension {
    match (proto.dim_value, &proto.dim_param) {
        // Some exporters write -1 for an open dimension.
        (Some(size), _) => u64::try_from(size).map_or(Dimension::ANY, Dimension::Known),
        (None, Some(name)) if !name.is_empty() => Dimension::Named(name.clone()),
        _ => Dimension::ANY,
    }
}
