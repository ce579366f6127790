//! Tensors that are part of a model. Their elements are read when they are needed: most are not.

use std::path::PathBuf;

use bytes::Bytes;

use crate::element::ElementType;
use crate::error::{Error, Result};
use crate::files;
use crate::tensor::{Tensor, byte_count, text};

/// A tensor of the model.
#[derive(Clone, Debug)]
pub(crate) struct Constant {
    pub(crate) element: ElementType,
    pub(crate) shape: Vec<u64>,
    data: Data,
}

/// Where the elements are.
#[derive(Clone, Debug)]
pub(crate) enum Data {
    /// Packed and little-endian, in the model.
    Here(Bytes),
    /// In a part of another file.
    File { path: PathBuf, offset: u64 },
}

impl Constant {
    /// A constant whose number of bytes is `given`; what `data` does not have is not read.
    pub(crate) fn new(
        element: ElementType,
        shape: Vec<u64>,
        data: Data,
        given: u64,
    ) -> Result<Self> {
        if matches!(element, ElementType::Other(_)) {
            return Ok(Self { element, shape, data });
        }
        match byte_count(element, &shape) {
            Some(needed) if needed == given => Ok(Self { element, shape, data }),
            needed => {
                let shape = text(&shape);
                let needed = needed.map_or("a smaller shape".to_owned(), |it| it.to_string());
                let problem = format!("{given} bytes for {element} {shape}; accepted: {needed}");
                Err(Error::Malformed(problem))
            }
        }
    }

    /// The tensor with its elements.
    pub(crate) fn load(&self) -> Result<Tensor> {
        let bytes = match &self.data {
            Data::Here(bytes) => bytes.clone(),
            Data::File { path, offset } => {
                let bytes = byte_count(self.element, &self.shape).unwrap_or(0);
                files::read_range(path, *offset, bytes)
                    .map_err(|error| error.in_file(&path.display().to_string()))?
            }
        };
        Tensor::new(self.element, self.shape.clone(), bytes)
    }
}

impl From<Tensor> for Constant {
    fn from(tensor: Tensor) -> Self {
        let (element, shape) = (tensor.element_type(), tensor.shape().to_vec());
        Self { element, shape, data: Data::Here(Bytes::copy_from_slice(tensor.bytes())) }
    }
}
