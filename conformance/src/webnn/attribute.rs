//! Attributes of ONNX's nodes.

use dml_import::onnx::proto::AttributeProto;

/// The numbers of AttributeProto.AttributeType.
const FLOAT: i32 = 1;
const INT: i32 = 2;
const STRING: i32 = 3;
const INTS: i32 = 7;
const STRINGS: i32 = 8;

fn of(name: &str, kind: i32) -> AttributeProto {
    AttributeProto { name: name.to_owned(), r#type: kind, ..AttributeProto::default() }
}

pub(super) fn float(name: &str, f: f32) -> AttributeProto {
    AttributeProto { f: Some(f), ..of(name, FLOAT) }
}

pub(super) fn int(name: &str, i: i64) -> AttributeProto {
    AttributeProto { i: Some(i), ..of(name, INT) }
}

pub(super) fn text(name: &str, text: &str) -> AttributeProto {
    AttributeProto { s: Some(text.to_owned().into()), ..of(name, STRING) }
}

pub(super) fn texts(name: &str, texts: Vec<String>) -> AttributeProto {
    let strings = texts.into_iter().map(Into::into).collect();
    AttributeProto { strings, ..of(name, STRINGS) }
}

pub(super) fn ints(name: &str, ints: Vec<i64>) -> AttributeProto {
    AttributeProto { ints, ..of(name, INTS) }
}
