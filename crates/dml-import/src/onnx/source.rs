//! ONNX graphs that another reader, such as ONNX Runtime, holds in memory.

use bytes::Bytes;

use crate::element::ElementType;

use super::attributes::Kind;
use super::operators::{CONTRIB_OPSET, MICROSOFT};
use super::proto::{
    AttributeProto, DimensionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto,
    TensorProto, TensorShapeProto, TensorTypeProto, TypeProto, ValueInfoProto,
};
use super::tensor;

/// An ONNX graph without a file: [`Model::from_onnx`](crate::Model::from_onnx) makes a model of it, and
/// [`claims`](crate::claims::claims) tells which of its nodes run.
///
/// A source is not trusted: it is checked like a file.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// The imported version of ai.onnx.
    pub opset: i64,
    /// The inputs of a run.
    pub inputs: Vec<SourceValue>,
    /// The constants of the model, by name.
    pub constants: Vec<(String, SourceTensor)>,
    /// The operations, in any order.
    pub nodes: Vec<SourceNode>,
    /// The names of a run's outputs.
    pub outputs: Vec<String>,
}

/// A value, as far as it is known.
#[derive(Clone, Debug, Default)]
pub struct SourceValue {
    /// The name; empty for an output that a node leaves out.
    pub name: String,
    /// The element type as ONNX's number; 0 if it is unknown or the value is not a tensor.
    pub element: i32,
    /// The sizes of the dimensions, where an open one is `None`; `None` if the rank is unknown.
    pub shape: Option<Vec<Option<u64>>>,
}

/// A tensor that is part of a model.
#[derive(Clone, Debug)]
pub struct SourceTensor {
    /// The element type as ONNX's number.
    pub element: i32,
    /// The sizes of the dimensions, outermost first.
    pub shape: Vec<u64>,
    /// Packed little-endian elements, where two 4-bit elements share a byte.
    pub bytes: Bytes,
}

/// A node of the graph: one operation.
#[derive(Clone, Debug, Default)]
pub struct SourceNode {
    /// The node's name in messages; may be empty.
    pub name: String,
    /// The operator.
    pub operator: String,
    /// The operator's domain; empty for ai.onnx.
    pub domain: String,
    /// The names of the inputs; an empty one is left out.
    pub inputs: Vec<String>,
    /// The outputs.
    pub outputs: Vec<SourceValue>,
    /// The attributes, by name.
    pub attributes: Vec<(String, SourceAttribute)>,
}

/// The value of an attribute.
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
    /// A graph, or another kind of value that is not passed on: no supported operator has it.
    Other,
}

/// The element type with this number in TensorProto.DataType; `None` if the number is unknown.
pub fn element_type(number: i32) -> Option<ElementType> {
    tensor::element(number.into())
}

impl Source {
    /// The message that a file of the graph would contain.
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
            dim_value: size.and_then(|size| i64::try_from(size).ok()),
            dim_param: None,
        };
        let shape = self.shape.as_ref();
        let shape =
            shape.map(|shape| TensorShapeProto { dim: shape.iter().map(dimension).collect() });
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
            // A size beyond ONNX's range becomes one that is refused.
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
            output: self.outputs.iter().map(|output| output.name.clone()).collect(),
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
