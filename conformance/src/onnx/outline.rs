//! The outline of a test's model: the names and kinds of its inputs and outputs, and its operators.
//!
//! Models are read without the importer, so that models which the importer refuses are counted too.

use std::collections::BTreeSet;

use anyhow::ensure;
use dml_import::onnx::proto::{GraphProto, ModelProto, ValueInfoProto};
use prost::Message as _;
use prost::bytes::Bytes;

use super::given::ValueKind;

/// The deepest nesting of graphs.
const NESTED: usize = 32;

/// The parts of a model that are read without the importer.
#[derive(Debug, Default)]
pub(super) struct Outline {
    /// The inputs in the order in which a test's files are numbered.
    pub(super) inputs: Vec<Value>,
    /// The outputs, in the same order.
    pub(super) outputs: Vec<Value>,
    /// The operators of the graph and its subgraphs; those of other domains with their domain.
    pub(super) operators: BTreeSet<String>,
    /// The number of nodes in the graph and its subgraphs.
    pub(super) nodes: usize,
    /// The inputs of each Dropout that may be in training mode.
    dropouts: Vec<Vec<String>>,
}

/// An input or an output.
#[derive(Debug)]
pub(super) struct Value {
    pub(super) name: String,
    pub(super) kind: ValueKind,
}

/// Operators that draw random values, whose outputs cannot be compared.
const RANDOM: [&str; 6] = [
    "Bernoulli",
    "Multinomial",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
];

impl Outline {
    /// The outline of the model in these bytes.
    pub(super) fn read(bytes: Vec<u8>) -> anyhow::Result<Self> {
        let graph = ModelProto::decode(Bytes::from(bytes))?.graph.unwrap_or_default();
        let mut outline = Self::default();
        outline.visit(&graph, 0)?;
        outline.inputs = graph.input.into_iter().map(Value::of).collect();
        outline.outputs = graph.output.into_iter().map(Value::of).collect();
        Ok(outline)
    }

    fn visit(&mut self, graph: &GraphProto, depth: usize) -> anyhow::Result<()> {
        ensure!(depth <= NESTED, "graphs are nested more than {NESTED} deep");
        for node in &graph.node {
            let name = match node.domain.as_str() {
                "" | "ai.onnx" => node.op_type.clone(),
                domain => format!("{domain}.{}", node.op_type),
            };
            if name == "Dropout" && node.input.get(2).is_some_and(|it| !it.is_empty()) {
                self.dropouts.push(node.input.clone());
            }
            self.operators.insert(name);
            self.nodes += 1;
            for nested in node.attribute.iter().flat_map(|it| it.g.iter().chain(&it.graphs)) {
                self.visit(&GraphProto::decode(nested.clone())?, depth + 1)?;
            }
        }
        Ok(())
    }

    /// An operator whose results are random, if there is one. `is_zero` returns whether all elements of an
    /// input are known to be 0: Dropout keeps everything without training, and with a ratio of 0.
    pub(super) fn random(&self, is_zero: impl Fn(&str) -> bool) -> Option<&str> {
        let always = self.operators.iter().find(|operator| RANDOM.contains(&operator.as_str()));
        let draws = |inputs: &Vec<String>| {
            let is_zero = |index: usize| inputs.get(index).is_some_and(|it| is_zero(it));
            !is_zero(2) && !is_zero(1)
        };
        let dropout = || self.dropouts.iter().any(draws).then_some("Dropout");
        always.map(String::as_str).or_else(dropout)
    }
}

impl Value {
    fn of(value: ValueInfoProto) -> Self {
        let kind = value.r#type.and_then(|it| {
            let kinds = [
                (it.sequence_type, ValueKind::Sequence),
                (it.optional_type, ValueKind::Optional),
                (it.map_type, ValueKind::Other("a map")),
                (it.sparse_tensor_type, ValueKind::Other("a sparse tensor")),
            ];
            kinds.into_iter().find(|(is_there, _)| is_there.is_some()).map(|(_, kind)| kind)
        });
        Self { name: value.name, kind: kind.unwrap_or(ValueKind::Tensor) }
    }
}

#[cfg(test)]
pub(super) mod samples {
    use dml_import::onnx::proto::{GraphProto, ModelProto, NodeProto, ValueInfoProto};
    use prost::Message as _;

    /// A model of one node between inputs and the output `y`.
    pub(in crate::onnx) fn model(op_type: &str, inputs: &[&str]) -> Vec<u8> {
        let value =
            |name: &str| ValueInfoProto { name: name.to_owned(), ..ValueInfoProto::default() };
        let node = NodeProto {
            op_type: op_type.to_owned(),
            input: inputs.iter().map(|input| (*input).to_owned()).collect(),
            ..NodeProto::default()
        };
        let graph = GraphProto {
            node: vec![node],
            input: inputs.iter().map(|input| value(input)).collect(),
            output: vec![value("y")],
            ..GraphProto::default()
        };
        of(graph)
    }

    /// A model of this graph.
    pub(super) fn of(graph: GraphProto) -> Vec<u8> {
        ModelProto { graph: Some(graph), ..ModelProto::default() }.encode_to_vec()
    }
}

#[cfg(test)]
mod tests {
    use dml_import::onnx::proto::{AttributeProto, NodeProto, TypeProto};

    use super::*;

    #[test]
    fn operators_of_subgraphs_are_counted() {
        let inner = |name: &str| {
            let node = NodeProto { op_type: name.to_owned(), ..NodeProto::default() };
            let graph = GraphProto { node: vec![node], ..GraphProto::default() };
            Bytes::from(graph.encode_to_vec())
        };
        let attribute = AttributeProto {
            g: Some(inner("Abs")),
            graphs: vec![inner("Neg"), inner("RandomNormal")],
            ..AttributeProto::default()
        };
        let node = NodeProto {
            op_type: "If".to_owned(),
            domain: "example".to_owned(),
            attribute: vec![attribute],
            ..NodeProto::default()
        };
        let graph = GraphProto { node: vec![node], ..GraphProto::default() };
        let outline = Outline::read(samples::of(graph)).unwrap();
        let names: Vec<&str> = outline.operators.iter().map(String::as_str).collect();
        assert_eq!(names, ["Abs", "Neg", "RandomNormal", "example.If"]);
        assert_eq!(outline.nodes, 4);
        assert_eq!(outline.random(|_| true), Some("RandomNormal"));
    }

    #[test]
    fn how_deep_graphs_are_nested_is_limited() {
        let nested = |depth: usize| {
            let around = |inner: GraphProto, _| {
                let g = Some(Bytes::from(inner.encode_to_vec()));
                let attribute = vec![AttributeProto { g, ..AttributeProto::default() }];
                let node = vec![NodeProto { attribute, ..NodeProto::default() }];
                GraphProto { node, ..GraphProto::default() }
            };
            Outline::read(samples::of((0..depth).fold(GraphProto::default(), around)))
        };
        assert_eq!(nested(NESTED).unwrap().nodes, NESTED);
        let error = nested(NESTED + 1).unwrap_err().to_string();
        assert_eq!(error, "graphs are nested more than 32 deep");
    }

    #[test]
    fn dropout_is_random_where_it_trains() {
        let random = |inputs: &[&str], zeros: &[&str]| {
            let outline = Outline::read(samples::model("Dropout", inputs)).unwrap();
            outline.random(|name| zeros.contains(&name)).is_some()
        };
        assert!(!random(&["x"], &[]) && !random(&["x", "ratio"], &[]));
        assert!(random(&["x", "ratio", "training"], &[]));
        assert!(random(&["x", "", "training"], &[]), "the ratio is 0.5 by default");
        assert!(!random(&["x", "ratio", "training"], &["training"]));
        assert!(!random(&["x", "ratio", "training"], &["ratio"]));
    }

    #[test]
    fn what_is_no_tensor_is_named() {
        let r#type = TypeProto { map_type: Some(()), ..TypeProto::default() };
        let input = ValueInfoProto { name: "x".to_owned(), r#type: Some(r#type) };
        let graph = GraphProto { input: vec![input], ..GraphProto::default() };
        let outline = Outline::read(samples::of(graph)).unwrap();
        assert_eq!(
            (outline.inputs[0].name.as_str(), outline.inputs[0].kind),
            ("x", ValueKind::Other("a map"))
        );
        assert!(Outline::read(vec![0xff]).is_err());
    }
}
