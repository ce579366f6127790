//! The attributes of a node, checked against its operator's.

use bytes::Bytes;
use prost::Message as _;

use crate::constant::Constant;
use crate::error::{NodeName, Result, shortened};
use crate::files::Folder;

use super::proto::{AttributeProto, GraphProto, NodeProto};
use super::{sparse, tensor, wire};

/// The values of AttributeProto.AttributeType that supported operators use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Float = 1,
    Int = 2,
    Text = 3,
    Tensor = 4,
    Graph = 5,
    Floats = 6,
    Ints = 7,
    Texts = 8,
    SparseTensor = 11,
    Type = 13,
}

const KIND_NAMES: [&str; 15] = [
    "UNDEFINED",
    "FLOAT",
    "INT",
    "STRING",
    "TENSOR",
    "GRAPH",
    "FLOATS",
    "INTS",
    "STRINGS",
    "TENSORS",
    "GRAPHS",
    "SPARSE_TENSOR",
    "SPARSE_TENSORS",
    "TYPE_PROTO",
    "TYPE_PROTOS",
];

/// The names of an operator's attributes, for messages.
pub(super) fn listed(known: &[(&str, Kind)]) -> String {
    let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// The attributes of one node.
pub(super) struct Attributes<'a> {
    pub(super) node: &'a NodeName,
    all: &'a [AttributeProto],
    folder: Option<&'a Folder>,
    /// The number of the node's outputs.
    pub(super) outputs: usize,
}

impl<'a> Attributes<'a> {
    /// Checks that every attribute is one of `known`, is given once, and has its type.
    pub(super) fn new(
        node: &'a NodeName,
        proto: &'a NodeProto,
        known: &[(&str, Kind)],
        folder: Option<&'a Folder>,
    ) -> Result<Self> {
        let all = proto.attribute.as_slice();
        for (index, attribute) in all.iter().enumerate() {
            let refused = |value: &str, problem, accepted: &str| {
                let path = format!("attribute {}", shortened(&attribute.name));
                Err(node.invalid(path, value, problem, accepted))
            };
            let misplaced = |problem: &str, accepted: &str| {
                Err(node.invalid("attributes", &attribute.name, problem, accepted))
            };
            let Some((_, kind)) = known.iter().find(|(name, _)| *name == attribute.name) else {
                let problem = format!("is not an attribute of {}", node.operator);
                return misplaced(&problem, &listed(known));
            };
            if all[..index].iter().any(|other| other.name == attribute.name) {
                return misplaced("is given twice", "each attribute once");
            }
            if !attribute.ref_attr_name.is_empty() {
                let problem = "is a reference, outside of a function";
                return refused(&attribute.ref_attr_name, problem, "a value");
            }
            let (given, wanted) = (given_kind(attribute), *kind as usize);
            if given != wanted {
                let name = KIND_NAMES.get(given).copied().unwrap_or("unknown");
                return refused(name, "is the wrong type", KIND_NAMES[wanted]);
            }
        }
        Ok(Self { node, all, folder, outputs: proto.output.len() })
    }

    /// The attribute with this name, if it is given.
    pub(super) fn get(&self, name: &str) -> Option<&AttributeProto> {
        self.all.iter().find(|attribute| attribute.name == name)
    }

    pub(super) fn int(&self, name: &str) -> Option<i64> {
        self.get(name).map(|attribute| attribute.i.unwrap_or(0))
    }

    pub(super) fn flag(&self, name: &str, default: bool) -> bool {
        self.int(name).map_or(default, |it| it != 0)
    }

    pub(super) fn float(&self, name: &str) -> Option<f32> {
        self.get(name).map(|attribute| attribute.f.unwrap_or(0.0))
    }

    pub(super) fn ints(&self, name: &str) -> Option<Vec<i64>> {
        self.get(name).map(|attribute| attribute.ints.clone())
    }

    pub(super) fn floats(&self, name: &str) -> Option<Vec<f32>> {
        self.get(name).map(|attribute| attribute.floats.clone())
    }

    pub(super) fn texts(&self, name: &str) -> Option<Vec<String>> {
        let text = |it: &Bytes| String::from_utf8_lossy(it).into_owned();
        self.get(name).map(|attribute| attribute.strings.iter().map(text).collect())
    }

    pub(super) fn text(&self, name: &str) -> Option<String> {
        let text = self.get(name)?.s.as_deref().unwrap_or_default();
        Some(String::from_utf8_lossy(text).into_owned())
    }

    pub(super) fn tensor(&self, name: &str) -> Result<Option<Constant>> {
        let Some(attribute) = self.get(name) else { return Ok(None) };
        let proto = attribute.t.clone().unwrap_or_default();
        tensor::constant(&proto, self.folder)
            .map(Some)
            .map_err(|error| self.no_tensor(name, &error))
    }

    pub(super) fn sparse_tensor(&self, name: &str) -> Result<Option<Constant>> {
        let Some(attribute) = self.get(name) else { return Ok(None) };
        let proto = attribute.sparse_tensor.clone().unwrap_or_default();
        sparse::constant(&proto, self.folder)
            .map(Some)
            .map_err(|error| self.no_tensor(name, &error))
    }

    fn no_tensor(&self, name: &str, error: &crate::Error) -> crate::Error {
        let problem = format!("is not a valid tensor: {}", shortened(&error.to_string()));
        self.node.invalid(format!("attribute {name}"), "it", problem, "a tensor")
    }

    /// Decodes a graph in an attribute.
    pub(super) fn graph(&self, name: &str) -> Result<GraphProto> {
        let bytes: Bytes =
            self.get(name).and_then(|it| it.g.clone()).ok_or_else(|| self.missing(name))?;
        let wrong = |error: String| {
            let problem = format!("is not a graph: {}", shortened(&error));
            self.node.invalid(format!("attribute {name}"), "it", problem, "a graph")
        };
        wire::check_graph(&bytes).map_err(|error| wrong(error.to_string()))?;
        GraphProto::decode(bytes).map_err(|error| wrong(error.to_string()))
    }

    /// The error of a required attribute that is missing.
    pub(super) fn missing(&self, name: &str) -> crate::Error {
        self.node.invalid(format!("attribute {name}"), "nothing", "is given", "a value")
    }
}

/// The type of an attribute's value. Files before ONNX's IR version 2 do not state it.
fn given_kind(attribute: &AttributeProto) -> usize {
    if attribute.r#type != 0 {
        return usize::try_from(attribute.r#type).unwrap_or(usize::MAX);
    }
    let kind = match attribute {
        AttributeProto { f: Some(_), .. } => Kind::Float,
        AttributeProto { i: Some(_), .. } => Kind::Int,
        AttributeProto { s: Some(_), .. } => Kind::Text,
        AttributeProto { t: Some(_), .. } => Kind::Tensor,
        AttributeProto { g: Some(_), .. } => Kind::Graph,
        AttributeProto { sparse_tensor: Some(_), .. } => Kind::SparseTensor,
        AttributeProto { floats, .. } if !floats.is_empty() => Kind::Floats,
        AttributeProto { ints, .. } if !ints.is_empty() => Kind::Ints,
        AttributeProto { strings, .. } if !strings.is_empty() => Kind::Texts,
        _ => return 0,
    };
    kind as usize
}
