//! ONNX models, from a file or from another reader's graph ([`Source`]).

mod attributes;
mod contrib;
mod operators;
pub mod proto;
mod reader;
mod scope;
mod source;
mod sparse;
mod tensor;
mod wire;

use bytes::Bytes;
use prost::Message as _;

use crate::error::{Error, Result};
use crate::files::Folder;
use crate::graph::Graph;

pub use operators::{OperatorSupport, Support, support};
pub use source::{Source, SourceAttribute, SourceNode, SourceTensor, SourceValue, element_type};

/// Reads a model whose external data is in `folder`.
pub(crate) fn read(bytes: Bytes, folder: Option<&Folder>) -> Result<Graph> {
    wire::check(&bytes)?;
    let model = proto::ModelProto::decode(bytes)
        .map_err(|error| Error::malformed(format!("is not an ONNX model: {error}")))?;
    reader::graph(&model, folder)
}

/// Reads a graph that another reader holds.
pub(crate) fn graph(source: &Source) -> Result<Graph> {
    reader::graph(&source.to_proto(), None)
}
