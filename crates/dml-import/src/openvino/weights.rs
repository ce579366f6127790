//! The constants of a model, in its .bin file.

use std::path::{Path, PathBuf};

use crate::constant::{Constant, Data};
use crate::error::{Error, Result};
use crate::files::{FileRange, FileVersion};
use crate::graph::Dimension;
use crate::{files, limits};

use super::layer::Layer;

/// The file with the constants, opened only if there is a constant.
pub(super) struct Weights {
    path: Option<PathBuf>,
    version: Option<FileVersion>,
}

impl Weights {
    /// The constants of the model at `path`.
    pub(super) fn of(path: Option<&Path>) -> Self {
        let path = path.map(super::weights_file);
        Self { path, version: None }
    }

    /// Reads an element `<data element_type=".." shape=".." offset=".." size=".."/>`.
    pub(super) fn constant(&mut self, layer: &Layer) -> Result<Constant> {
        let element = layer.element("element_type")?;
        let (offset, size): (u64, u64) = (layer.number("offset")?, layer.number("size")?);
        let known = |dimension: &Dimension| match dimension {
            Dimension::Known(size) => Some(*size),
            _ => None,
        };
        let shape =
            layer.shape()?.and_then(|shape| shape.iter().map(known).collect::<Option<Vec<_>>>());
        let Some(shape) = shape else {
            return Err(layer.refused("shape", "is open", "sizes"));
        };
        let located = |error: Error| Error::malformed(format!("{}: {error}", layer.node));
        let (path, version) = self.file().map_err(located)?;
        files::check_range(version.length(), offset, size).map_err(|error| {
            Error::malformed(format!("{}: '{}': {error}", layer.node, path.display()))
        })?;
        if size > limits::TENSOR_BYTES {
            let accepted = format!("up to {}", limits::TENSOR_BYTES);
            return Err(layer.refused("size", "is too large", &accepted));
        }
        let constant =
            Constant::new(element, shape, Data::File(FileRange { path, offset, version }), size);
        Ok(constant.map_err(located)?.named(&layer.node.name))
    }

    fn file(&mut self) -> Result<(PathBuf, FileVersion)> {
        let path = self
            .path
            .clone()
            .ok_or_else(|| Error::malformed("constants are read only for a model in a file"))?;
        let version = match self.version {
            Some(version) => version,
            None => files::version_of(&path)
                .map_err(|error| Error::malformed(format!("'{}': {error}", path.display())))?,
        };
        self.version = Some(version);
        Ok((path, version))
    }
}
