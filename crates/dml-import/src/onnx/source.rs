//! A graph of ONNX as another reader of the format holds it, such as ONNX Runtime.

use bytes::Bytes;

use crate::element::ElementType;

use super::attributes::Kind;
use super::operators::{CONTRIB_OPSET, MICROSOFT};
use super::proto::{
    AttributeProto, DimensionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto,
    TensorProto, TensorShapeProto, TensorTypeProto, TypeProto, ValueInfoProto,
};
use super::tensor;

/// A graph of ONNX without its file: [`Model::from_onnx`](crate::Model::from_onnx) makes a model of it,
/// [`claims`](crate::claims::claims) says which of its nodes are run.
///
/// Nothing in it is taken on trust; it is checked like a file.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// The version of ai.onnx.
    pub opset: i64,
    /// What a run gives.
    pub inputs: Vec<SourceValue>,
    /// What is part of the model, each with its name.
    pub constants: Vec<(String, SourceTensor)>,
    /// The operations, in any order.
    pub nodes: Vec<SourceNode>,
    /// The names of what a run yields.
    pub outputs: Vec<String>,
}

/// A value, with as much as is known of it.
#[derive(Clone, Debug, Default)]
pub struct SourceValue {
    /// The name; empty where a node leaves an output out.
    pub name: String,
    /// The type of the elements, as ONNX numbers them; 0 where it is not known or no tensor.
    pub element: i32,
    /// The sizes of the dimensions, `None` for an open one; `None` where even their number is open.
    pub shape: Option<Vec<Option<u64>>>,
}

/// A tensor that is part of a model.
#[derive(Clone, Debug)]
pub struct SourceTensor {
    /// The type of the elements, as ONNX numbers them.
    pub element: i32,
    /// The sizes of the dimensions, outermost first.
    pub shape: Vec<u64>,
    /// Packed and little-endian, two elements of 4 bits in a byte.
    pub bytes: Bytes,
}

/// An operation.
#[derive(Clone, Debug, Default)]
pub struct SourceNode {
    /// What messages call it; may be empty.
    pub name: String,
    /// The operator.
    pub operator: String,
    /// The domain of the operator; empty is ai.onnx.
    pub domain: String,
    /// The names of what it reads; an empty one is an input left out.
    pub inputs: Vec<String>,
    /// What it writes.
    pub outputs: Vec<SourceValue>,
    /// Its attributes, each with its name.
    pub attributes: Vec<(String, SourceAttribute)>,
}

/// What an attribute is.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the types are ONNX's")]
pub enum SourceAttribute {
    Float(f32),
    Int(i64),
    Text(Bytes),
    Tensor(SourceTensor),
    Floats(Vec<f32>),
    Ints(Vec<i64>),
    Texts(Vec<Bytes>),
    /// A graph, or anything else that is not handed over: no operator takes it.
    Other,
}

/// The type that ONNX gives this number in TensorProto; `None` where it is no type's.
pub fn element_type(number: i32) -> Option<ElementType> {
    tensor::element(number.into())
}

impl Source {
    /// The messages that a file would have.
    pub(super) fn to_proto(&self) -> ModelProto {
        let constant = |(name, it): &(String, SourceTensor)| TensorProto {
            name: name.clone(),
            ..it.to_proto()
        };
        let output =
            |name: &String| ValueInfoProto { name: name.clone(), ..ValueInfoProto::default() };
        let graph = GraphProto {
            node: self.nodes.iter().map(SourceNode::to_proto).collect(),
            initializer: self.constants.iter().map(constant).collect(),
            sparse_initializer: vec![],
            input: self.inputs.iter().map(SourceValue::to_proto).collect(),
            output: self.outputs.iter().map(output).collect(),
        };
        let of = |domain: &str, version| OperatorSetIdProto { domain: domain.to_owned(), version };
        ModelProto {
            graph: Some(graph),
            opset_import: vec![of("", self.opset), of(MICROSOFT, CONTRIB_OPSET)],
            ..ModelProto::default()
        }
    }
}

impl SourceValue {
    fn to_proto(&self) -> ValueInfoProto {
        let dimension = |size: &Option<u64>| DimensionProto {
            dim_value: size.and_then(|it| i64::try_from(it).ok()),
            dim_param: None,
        };
        let shape = self.shape.as_ref();
        let shape = shape.map(|it| TensorShapeProto { dim: it.iter().map(dimension).collect() });
        let tensor_type = Some(TensorTypeProto { elem_type: self.element, shape });
        ValueInfoProto {
            name: self.name.clone(),
            r#type: Some(TypeProto { tensor_type, ..TypeProto::default() }),
        }
    }
}

impl SourceTensor {
    fn to_proto(&self) -> TensorProto {
        TensorProto {
            // A size beyond ONNX's becomes one that is refused.
            dims: self.shape.iter().map(|it| i64::try_from(*it).unwrap_or(-1)).collect(),
            data_type: self.element,
            raw_data: Some(self.bytes.clone()),
            ..TensorProto::default()
        }
    }
}

impl SourceNode {
    fn to_proto(&self) -> NodeProto {
        NodeProto {
            input: self.inputs.clone(),
            output: self.outputs.iter().map(|it| it.name.clone()).collect(),
            name: self.name.clone(),
            op_type: self.operator.clone(),
            attribute: self.attributes.iter().map(|(name, it)| it.to_proto(name)).collect(),
            domain: self.domain.clone(),
            overload: String::new(),
        }
    }
}

impl SourceAttribute {
    fn to_proto(&self, name: &str) -> AttributeProto {
        let of = |kind: Kind| AttributeProto {
            name: name.to_owned(),
            r#type: kind as i32,
            ..AttributeProto::default()
        };
        match self {
            Self::Float(it) => AttributeProto { f: Some(*it), ..of(Kind::Float) },
            Self::Int(it) => AttributeProto { i: Some(*it), ..of(Kind::Int) },
            Self::Text(it) => AttributeProto { s: Some(it.clone()), ..of(Kind::Text) },
            Self::Tensor(it) => AttributeProto { t: Some(it.to_proto()), ..of(Kind::Tensor) },
            Self::Floats(it) => AttributeProto { floats: it.clone(), ..of(Kind::Floats) },
            Self::Ints(it) => AttributeProto { ints: it.clone(), ..of(Kind::Ints) },
            Self::Texts(it) => AttributeProto { strings: it.clone(), ..of(Kind::Texts) },
            Self::Other => AttributeProto { name: name.to_owned(), ..AttributeProto::default() },
        }
    }
}
