//! DxDispatch's models: DirectML operators, the buffers that they are bound to, and commands.

mod commands;
mod comments;
mod dispatchable;
mod json;
mod model;
mod numbers;
mod points;
mod resources;
mod script;

use serde_json::Value;

use crate::error::{Error, Result, shortened};
use crate::files::Folder;

pub(crate) use script::Script;

/// Reads a model whose source files are in `folder`. The JSON parser limits how deep arrays and objects are
/// nested.
pub(crate) fn read(bytes: &[u8], folder: Option<&Folder>) -> Result<Script> {
    let text = std::str::from_utf8(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes))
        .map_err(|error| Error::malformed(format!("is not JSON: {error}")))?;
    let model: Value = serde_json::from_str(&comments::without(text)).map_err(|error| {
        Error::malformed(format!("is not JSON: {}", shortened(&error.to_string())))
    })?;
    Script::read(model, folder)
}
