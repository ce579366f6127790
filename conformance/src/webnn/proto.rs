//! The messages of onnx.proto, as far as they are written. Field numbers are ONNX's.

use prost::Message;

#[derive(Clone, PartialEq, Message)]
pub(super) struct Model {
    #[prost(int64, tag = "1")]
    pub(super) ir_version: i64,
    #[prost(message, optional, tag = "7")]
    pub(super) graph: Option<Graph>,
    #[prost(message, repeated, tag = "8")]
    pub(super) opset_import: Vec<Opset>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Opset {
    #[prost(string, tag = "1")]
    pub(super) domain: String,
    #[prost(int64, tag = "2")]
    pub(super) version: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Graph {
    #[prost(message, repeated, tag = "1")]
    pub(super) node: Vec<Node>,
    #[prost(message, repeated, tag = "5")]
    pub(super) initializer: Vec<Tensor>,
    #[prost(message, repeated, tag = "11")]
    pub(super) input: Vec<Value>,
    #[prost(message, repeated, tag = "12")]
    pub(super) output: Vec<Value>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Node {
    #[prost(string, repeated, tag = "1")]
    pub(super) input: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    pub(super) output: Vec<String>,
    #[prost(string, tag = "4")]
    pub(super) op_type: String,
    #[prost(message, repeated, tag = "5")]
    pub(super) attribute: Vec<Attribute>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Attribute {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(float, tag = "2")]
    pub(super) f: f32,
    #[prost(int64, tag = "3")]
    pub(super) i: i64,
    #[prost(bytes = "vec", tag = "4")]
    pub(super) s: Vec<u8>,
    #[prost(int64, repeated, tag = "8")]
    pub(super) ints: Vec<i64>,
    #[prost(string, repeated, tag = "9")]
    pub(super) strings: Vec<String>,
    #[prost(int32, tag = "20")]
    pub(super) r#type: i32,
}

impl Attribute {
    fn of(name: &str, kind: i32) -> Self {
        Self { name: name.to_owned(), r#type: kind, ..Self::default() }
    }

    pub(super) fn float(name: &str, f: f32) -> Self {
        Self { f, ..Self::of(name, 1) }
    }

    pub(super) fn int(name: &str, i: i64) -> Self {
        Self { i, ..Self::of(name, 2) }
    }

    pub(super) fn text(name: &str, text: &str) -> Self {
        Self { s: text.as_bytes().to_vec(), ..Self::of(name, 3) }
    }

    pub(super) fn texts(name: &str, strings: Vec<String>) -> Self {
        Self { strings, ..Self::of(name, 8) }
    }

    pub(super) fn ints(name: &str, ints: Vec<i64>) -> Self {
        Self { ints, ..Self::of(name, 7) }
    }
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Tensor {
    #[prost(int64, repeated, tag = "1")]
    pub(super) dims: Vec<i64>,
    #[prost(int32, tag = "2")]
    pub(super) data_type: i32,
    #[prost(string, tag = "8")]
    pub(super) name: String,
    #[prost(bytes = "vec", tag = "9")]
    pub(super) raw_data: Vec<u8>,
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
    #[prost(message, optional, tag = "1")]
    pub(super) tensor: Option<TensorType>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TensorType {
    #[prost(int32, tag = "1")]
    pub(super) element: i32,
    #[prost(message, optional, tag = "2")]
    pub(super) shape: Option<Shape>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Shape {
    #[prost(message, repeated, tag = "1")]
    pub(super) dimension: Vec<Dimension>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Dimension {
    #[prost(int64, optional, tag = "1")]
    pub(super) value: Option<i64>,
}
