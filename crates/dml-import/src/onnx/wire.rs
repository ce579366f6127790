//! Scans a protobuf file before it is decoded, so that decoding takes memory in proportion to the file's size.
//!
//! An empty message takes two bytes in the file and hundreds in memory, so the memory of all messages is summed
//! up first. The nesting depth is bounded, since no scanned message type contains itself: a graph in an
//! attribute is scanned when it is decoded.

use crate::error::{Error, Result};
use crate::limits;

use super::proto;

/// A message type of onnx.proto, with the nested messages that are decoded.
struct Kind {
    name: &'static str,
    /// Its size in memory, in bytes.
    size: usize,
    nested: &'static [(u64, &'static Kind)],
}

/// A string, or a message of two strings.
const LEAF: Kind = kind::<proto::StringStringEntryProto>("entry", &[]);
const TENSOR: Kind = kind::<proto::TensorProto>("TensorProto", &[(13, &LEAF)]);
const SPARSE: Kind =
    kind::<proto::SparseTensorProto>("SparseTensorProto", &[(1, &TENSOR), (2, &TENSOR)]);
const ATTRIBUTE: Kind =
    kind::<proto::AttributeProto>("AttributeProto", &[(5, &TENSOR), (22, &SPARSE)]);
const NODE: Kind = kind::<proto::NodeProto>("NodeProto", &[(5, &ATTRIBUTE)]);
const SHAPE: Kind = kind::<proto::TensorShapeProto>("TensorShapeProto", &[(1, &LEAF)]);
const TENSOR_TYPE: Kind = kind::<proto::TensorTypeProto>("TypeProto.Tensor", &[(2, &SHAPE)]);
const TYPE: Kind = kind::<proto::TypeProto>("TypeProto", &[(1, &TENSOR_TYPE)]);
const VALUE: Kind = kind::<proto::ValueInfoProto>("ValueInfoProto", &[(2, &TYPE)]);
const GRAPH: Kind = kind::<proto::GraphProto>(
    "GraphProto",
    &[(1, &NODE), (5, &TENSOR), (11, &VALUE), (12, &VALUE), (15, &SPARSE)],
);
const FUNCTION: Kind =
    kind::<proto::FunctionProto>("FunctionProto", &[(7, &NODE), (9, &LEAF), (11, &ATTRIBUTE)]);
const MODEL: Kind =
    kind::<proto::ModelProto>("ModelProto", &[(7, &GRAPH), (8, &LEAF), (25, &FUNCTION)]);

const fn kind<T>(name: &'static str, nested: &'static [(u64, &'static Kind)]) -> Kind {
    Kind { name, size: size_of::<T>(), nested }
}

/// Checks that the bytes of a model are well-formed fields that take bounded memory.
///
/// # Errors
/// [`Error::Malformed`] names the message, the field and the byte.
pub(super) fn check(bytes: &[u8]) -> Result<()> {
    check_kind(&MODEL, bytes)
}

/// Checks the bytes of a graph like [`check`].
pub(super) fn check_graph(bytes: &[u8]) -> Result<()> {
    check_kind(&GRAPH, bytes)
}

/// Checks the bytes of a TensorProto like [`check`].
pub(super) fn check_tensor(bytes: &[u8]) -> Result<()> {
    check_kind(&TENSOR, bytes)
}

fn check_kind(kind: &Kind, bytes: &[u8]) -> Result<()> {
    let mut scanner = Scanner { all: bytes, at: 0, memory: 0 };
    scanner.message(kind, bytes.len())
}

struct Scanner<'a> {
    all: &'a [u8],
    at: usize,
    /// Bytes that the messages scanned so far take when decoded, without tensor elements.
    memory: usize,
}

impl Scanner<'_> {
    fn message(&mut self, kind: &Kind, end: usize) -> Result<()> {
        while self.at < end {
            let key = self.varint(kind, end)?;
            let field = key >> 3;
            let length = match key & 7 {
                0 => {
                    self.varint(kind, end)?;
                    0
                }
                1 => 8,
                2 => self.varint(kind, end)?,
                5 => 4,
                other => {
                    let problem = format!("field {field} has wire type {other}");
                    return Err(self.wrong(kind, &problem));
                }
            };
            let rest = end - self.at;
            let Some(length) = usize::try_from(length).ok().filter(|length| *length <= rest) else {
                let problem =
                    format!("field {field} has {length} bytes, of which {rest} are there");
                return Err(self.wrong(kind, &problem));
            };
            if key & 7 == 2 {
                let inner = kind.nested.iter().find(|(number, _)| *number == field);
                self.memory += inner.map_or(LEAF.size, |(_, inner)| inner.size);
                if self.memory > limits::ONNX_MEMORY {
                    let (name, at, most) = (kind.name, self.at, limits::ONNX_MEMORY);
                    return Err(Error::malformed(format!(
                        "is too large: up to byte {at}, in a {name}, its messages and texts take more than {most} \
                         bytes of memory, the limit; tensors do not count"
                    )));
                }
                if let Some((_, inner)) = inner {
                    self.message(inner, self.at + length)?;
                    continue;
                }
            }
            self.at += length;
        }
        Ok(())
    }

    fn varint(&mut self, kind: &Kind, end: usize) -> Result<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let Some(byte) = self.all.get(self.at).filter(|_| self.at < end) else {
                return Err(self.wrong(kind, "ends within a number"));
            };
            self.at += 1;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(self.wrong(kind, "a number is too long"))
    }

    fn wrong(&self, kind: &Kind, problem: &str) -> Error {
        let (name, at) = (kind.name, self.at);
        Error::malformed(format!(
            "is not an ONNX model, or a part of one: {name}: byte {at}: {problem}"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::onnx::proto::{GraphProto, ModelProto, NodeProto};
    use prost::Message as _;

    #[test]
    fn what_ends_early_is_refused_with_its_place() {
        let error = check(&[0x3a, 0x05, 0x0a, 0x01]).unwrap_err().to_string();
        let expected = "is not an ONNX model, or a part of one: ModelProto: byte 2: field 7 has 5 bytes, \
                        of which 2 are there";
        assert_eq!(error, expected);
        assert!(check(&[0x08]).is_err());
        assert!(check(&[0x0b]).is_err());
        assert!(check(&[0xff; 11]).is_err());
        assert!(check(&[0x08, 0x08]).is_ok());
    }

    #[test]
    fn a_flood_of_empty_messages_is_refused() {
        let node = vec![NodeProto::default(); limits::ONNX_MEMORY / NODE.size + 1];
        let graph = Some(GraphProto { node, ..GraphProto::default() });
        let model = ModelProto { graph, ..ModelProto::default() }.encode_to_vec();
        let error = check(&model).unwrap_err().to_string();
        assert!(error.starts_with("is too large: up to byte "), "{error}");
        assert!(
            error.contains("in a GraphProto, its messages and texts take more than"),
            "{error}"
        );
    }
}
