//! The values of a test's inputs and outputs: tensors, sequences of tensors, and optional values.

use std::fs;
use std::path::Path;

use dml_import::onnx::proto::{OptionalProto, SequenceProto};
use dml_import::{Error, InputForm, Result, Tensor, npy};
use prost::Message as _;
use prost::bytes::Bytes;

/// The kind of an input or an output of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueKind {
    Tensor,
    Sequence,
    Optional,
    /// Another kind, which no test is run with.
    Other(&'static str),
}

/// The value of an input or an output.
#[derive(Debug, PartialEq)]
pub(super) enum TestValue {
    Tensor(Tensor),
    /// An optional value that is a tensor.
    Element(Tensor),
    Sequence(Vec<Tensor>),
    /// An optional value without an element.
    Absent,
}

impl TestValue {
    /// Reads the file of a value of this kind.
    pub(super) fn read(path: &Path, kind: ValueKind) -> Result<Self> {
        if path.extension().is_some_and(|extension| extension == "npy") {
            return npy::read(path).map(Self::Tensor);
        }
        let unreadable = |error| Error::Unreadable(format!("{}: {error}", path.display()));
        let bytes = Bytes::from(fs::read(path).map_err(unreadable)?);
        let malformed = |error| Error::Malformed(format!("{}: {error}", path.display()));
        match kind {
            ValueKind::Tensor | ValueKind::Other(_) => Tensor::from_onnx(bytes).map(Self::Tensor),
            ValueKind::Sequence => sequence(SequenceProto::decode(bytes).map_err(malformed)?),
            ValueKind::Optional => {
                let optional = OptionalProto::decode(bytes).map_err(malformed)?;
                match (optional.tensor_value, optional.sequence_value) {
                    (Some(tensor), _) => Tensor::from_onnx(tensor).map(Self::Element),
                    (None, Some(tensors)) => sequence(tensors),
                    (None, None) => Ok(Self::Absent),
                }
            }
        }
    }

    /// The form of an input that has this value; `None` for a tensor.
    pub(super) fn form(&self) -> Option<InputForm> {
        match self {
            Self::Tensor(_) => None,
            Self::Element(_) => Some(InputForm::Tensor),
            Self::Sequence(tensors) => Some(InputForm::Sequence(tensors.len())),
            Self::Absent => Some(InputForm::Absent),
        }
    }

    /// The tensors of the value `name` with the importer's names of them.
    pub(super) fn named(self, name: &str) -> Vec<(String, Tensor)> {
        match self {
            Self::Tensor(tensor) | Self::Element(tensor) => vec![(name.to_owned(), tensor)],
            Self::Sequence(tensors) => {
                let tensors = tensors.into_iter().enumerate();
                tensors.map(|(at, tensor)| (format!("{name}[{at}]"), tensor)).collect()
            }
            Self::Absent => vec![],
        }
    }
}

fn sequence(proto: SequenceProto) -> Result<TestValue> {
    let tensors = proto.tensor_values.into_iter().map(Tensor::from_onnx);
    tensors.collect::<Result<_>>().map(TestValue::Sequence)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A TensorProto of the int8 tensor [7].
    const TENSOR: [u8; 6] = [0x08, 1, 0x10, 3, 0x28, 7];

    fn read(kind: ValueKind, bytes: Vec<u8>) -> TestValue {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("input_0.pb");
        fs::write(&path, bytes).unwrap();
        TestValue::read(&path, kind).unwrap()
    }

    #[test]
    fn files_have_tensors_sequences_and_optional_values() {
        let tensor = Tensor::from_onnx(TENSOR.to_vec()).unwrap();
        let sequence =
            SequenceProto { elem_type: 1, tensor_values: vec![TENSOR.to_vec().into(); 2] };
        let given = read(ValueKind::Sequence, sequence.encode_to_vec());
        assert_eq!(given.form(), Some(InputForm::Sequence(2)));
        let names: Vec<(String, Tensor)> = given.named("x");
        assert_eq!(
            names,
            [("x[0]".to_owned(), tensor.clone()), ("x[1]".to_owned(), tensor.clone())]
        );
        let tensor_value = Some(TENSOR.to_vec().into());
        let optional = OptionalProto { tensor_value, ..OptionalProto::default() };
        assert_eq!(read(ValueKind::Optional, optional.encode_to_vec()), TestValue::Element(tensor));
        let sequence_value = Some(sequence);
        let optional = OptionalProto { sequence_value, ..OptionalProto::default() };
        assert!(matches!(
            read(ValueKind::Optional, optional.encode_to_vec()),
            TestValue::Sequence(_)
        ));
        let absent = read(ValueKind::Optional, vec![]);
        assert_eq!((absent.form(), absent.named("x").len()), (Some(InputForm::Absent), 0));
    }
}
