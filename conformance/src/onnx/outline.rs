//! What a test's model says of itself: the names and kinds of its inputs and outputs, and its operators.
//!
//! It is read apart from the importer, so that models which that refuses are counted too.

use std::collections::BTreeSet;

use prost::Message;

/// What is looked at of onnx.proto. Field numbers are ONNX's.
mod proto {
    use prost::Message;

    #[derive(Clone, PartialEq, Message)]
    pub(super) struct Model {
        #[prost(message, optional, tag = "7")]
        pub(super) graph: Option<Graph>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub(super) struct Graph {
        #[prost(message, repeated, tag = "1")]
        pub(super) node: Vec<Node>,
        #[prost(message, repeated, tag = "11")]
        pub(super) input: Vec<Value>,
        #[prost(message, repeated, tag = "12")]
        pub(super) output: Vec<Value>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub(super) struct Node {
        #[prost(string, repeated, tag = "1")]
        pub(super) input: Vec<String>,
        #[prost(string, tag = "4")]
        pub(super) op_type: String,
        #[prost(message, repeated, tag = "5")]
        pub(super) attribute: Vec<Attribute>,
        #[prost(string, tag = "7")]
        pub(super) domain: String,
    }

    #[derive(Clone, PartialEq, Message)]
    pub(super) struct Attribute {
        #[prost(message, optional, tag = "6")]
        pub(super) graph: Option<Graph>,
        #[prost(message, repeated, tag = "11")]
        pub(super) graphs: Vec<Graph>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub(super) struct Value {
        #[prost(string, tag = "1")]
        pub(super) name: String,
        #[prost(message, optional, tag = "2")]
        pub(super) r#type: Option<Type>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub(super) struct Type {
        #[prost(message, optional, tag = "4")]
        pub(super) sequence: Option<Empty>,
        #[prost(message, optional, tag = "5")]
        pub(super) map: Option<Empty>,
        #[prost(message, optional, tag = "8")]
        pub(super) sparse_tensor: Option<Empty>,
        #[prost(message, optional, tag = "9")]
        pub(super) optional: Option<Empty>,
    }

    /// A message whose being there is enough.
    #[derive(Clone, PartialEq, Message)]
    pub(super) struct Empty {}
}

/// What is known of a model without the importer.
#[derive(Debug, Default)]
pub(super) struct Outline {
    /// The inputs in the order in which a test's files are numbered.
    pub(super) inputs: Vec<Value>,
    /// The outputs, likewise.
    pub(super) outputs: Vec<Value>,
    /// The operators of the graph and its subgraphs, those of other domains with their domain.
    pub(super) operators: BTreeSet<String>,
    /// How many nodes these have.
    pub(super) nodes: usize,
    /// The inputs of each Dropout that may be in training mode.
    dropouts: Vec<Vec<String>>,
}

/// An input or an output.
#[derive(Debug)]
pub(super) struct Value {
    pub(super) name: String,
    /// What it is where it is no tensor.
    pub(super) other: Option<&'static str>,
}

/// Operators that draw random values: no output of theirs is the right one.
const RANDOM: [&str; 6] = [
    "Bernoulli",
    "Multinomial",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
];

impl Outline {
    /// Of the model in these bytes.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, prost::DecodeError> {
        let graph = proto::Model::decode(bytes)?.graph.unwrap_or_default();
        let mut outline = Self::default();
        outline.visit(&graph);
        outline.inputs = graph.input.into_iter().map(Value::of).collect();
        outline.outputs = graph.output.into_iter().map(Value::of).collect();
        Ok(outline)
    }

    /// How deep graphs are nested is limited by the decoder.
    fn visit(&mut self, graph: &proto::Graph) {
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
            let nested = node.attribute.iter().flat_map(|it| it.graph.iter().chain(&it.graphs));
            nested.for_each(|it| self.visit(it));
        }
    }

    /// The operator whose results are random, where there is one. `is_zero` tells whether all elements
    /// of an input are known to be 0: Dropout keeps everything without training, and with a ratio of 0.
    pub(super) fn random(&self, is_zero: impl Fn(&str) -> bool) -> Option<&str> {
        let always = self.operators.iter().find(|it| RANDOM.contains(&it.as_str()));
        let draws = |inputs: &Vec<String>| {
            let is_zero = |index: usize| inputs.get(index).is_some_and(|it| is_zero(it));
            !is_zero(2) && !is_zero(1)
        };
        let dropout = || self.dropouts.iter().any(draws).then_some("Dropout");
        always.map(String::as_str).or_else(dropout)
    }
}

impl Value {
    fn of(value: proto::Value) -> Self {
        let other = value.r#type.and_then(|it| {
            let kinds = [
                (it.sequence, "a sequence"),
                (it.map, "a map"),
                (it.sparse_tensor, "a sparse tensor"),
                (it.optional, "an optional"),
            ];
            kinds.into_iter().find(|(is_there, _)| is_there.is_some()).map(|(_, kind)| kind)
        });
        Self { name: value.name, other }
    }
}

#[cfg(test)]
pub(super) mod samples {
    use super::proto::{Graph, Model, Node, Value};
    use prost::Message as _;

    /// A model of one node between inputs and the output `y`.
    pub(in crate::onnx) fn model(op_type: &str, inputs: &[&str]) -> Vec<u8> {
        let value = |name: &str| Value { name: name.to_owned(), ..Value::default() };
        let node = Node {
            op_type: op_type.to_owned(),
            input: inputs.iter().map(|it| (*it).to_owned()).collect(),
            ..Node::default()
        };
        let graph = Graph {
            node: vec![node],
            input: inputs.iter().map(|it| value(it)).collect(),
            output: vec![value("y")],
        };
        Model { graph: Some(graph) }.encode_to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_of_subgraphs_are_counted() {
        let inner = |name: &str| proto::Graph {
            node: vec![proto::Node { op_type: name.to_owned(), ..proto::Node::default() }],
            ..proto::Graph::default()
        };
        let attribute = proto::Attribute {
            graph: Some(inner("Abs")),
            graphs: vec![inner("Neg"), inner("RandomNormal")],
        };
        let node = proto::Node {
            op_type: "If".to_owned(),
            domain: "example".to_owned(),
            attribute: vec![attribute],
            ..proto::Node::default()
        };
        let graph = proto::Graph { node: vec![node], ..proto::Graph::default() };
        let outline = Outline::read(&proto::Model { graph: Some(graph) }.encode_to_vec()).unwrap();
        let names: Vec<&str> = outline.operators.iter().map(String::as_str).collect();
        assert_eq!(names, ["Abs", "Neg", "RandomNormal", "example.If"]);
        assert_eq!(outline.nodes, 4);
        assert_eq!(outline.random(|_| true), Some("RandomNormal"));
    }

    #[test]
    fn dropout_is_random_where_it_trains() {
        let random = |inputs: &[&str], zeros: &[&str]| {
            let outline = Outline::read(&samples::model("Dropout", inputs)).unwrap();
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
        let r#type = proto::Type { sequence: Some(proto::Empty {}), ..proto::Type::default() };
        let input = proto::Value { name: "x".to_owned(), r#type: Some(r#type) };
        let graph = proto::Graph { input: vec![input], ..proto::Graph::default() };
        let outline = Outline::read(&proto::Model { graph: Some(graph) }.encode_to_vec()).unwrap();
        assert_eq!(
            (outline.inputs[0].name.as_str(), outline.inputs[0].other),
            ("x", Some("a sequence"))
        );
        assert!(Outline::read(&[0xff]).is_err());
    }
}
