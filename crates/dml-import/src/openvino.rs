//! OpenVINO IR: an .xml file with the graph, and a .bin file with its constants.

mod element_wise;
mod layer;
mod operator_version;
mod operators;
mod reader;
mod weights;

use std::path::{Path, PathBuf};

use crate::error::{Error, Result, shortened};
use crate::graph::Graph;
use crate::limits;

/// The file with the constants of the model at `path`.
pub(crate) fn weights_file(path: &Path) -> PathBuf {
    path.with_extension("bin")
}

/// Reads a model. Its constants are in the file of the same name with the extension `.bin`.
pub(crate) fn read(xml: &[u8], path: Option<&Path>) -> Result<Graph> {
    let text = std::str::from_utf8(xml.strip_prefix(b"\xef\xbb\xbf").unwrap_or(xml))
        .map_err(|error| Error::malformed(format!("is not XML: {error}")))?;
    // A document type definition could define entities that expand without bound, or name other files.
    let options = roxmltree::ParsingOptions {
        allow_dtd: false,
        nodes_limit: limits::XML_NODES,
        ..roxmltree::ParsingOptions::default()
    };
    let document = roxmltree::Document::parse_with_options(text, options).map_err(|error| {
        Error::malformed(format!("is not XML, or refused: {}", shortened(&error.to_string())))
    })?;
    reader::graph(document.root_element(), path)
}
