//! ONNX models.

mod attributes;
mod operators;
mod proto;
mod reader;
mod scope;
mod tensor;
mod wire;

use std::path::Path;

use bytes::Bytes;
use prost::Message as _;

use crate::error::{Error, Result};
use crate::graph::Graph;

/// Reads a model; its external data is in `folder`.
pub(crate) fn read(bytes: Bytes, folder: Option<&Path>) -> Result<Graph> {
    wire::check(&bytes)?;
    let model = proto::ModelProto::decode(bytes)
        .map_err(|error| Error::malformed(format!("is no ONNX model: {error}")))?;
    reader::graph(&model, folder)
}
