//! Tensors that are part of a model. Their elements are read when they are needed: most are not.

use std::path::PathBuf;

use bytes::Bytes;

use crate::element::ElementType;
use crate::error::{Error, Result, shortened};
use crate::files;
use crate::tensor::{Tensor, element_count, file_bytes, spread, text};

/// A tensor of the model.
#[derive(Clone, Debug)]
pub(crate) struct Constant {
    /// The model's name of it; empty where it has none.
    pub(crate) name: String,
    pub(crate) element: ElementType,
    pub(crate) shape: Vec<u64>,
    data: Data,
}

/// Where the elements are.
#[derive(Clone, Debug)]
pub(crate) enum Data {
    /// Packed and little-endian.
    Here(Bytes),
    /// In a part of another file.
    File { path: PathBuf, offset: u64 },
}

impl Constant {
    /// A constant whose number of bytes, as files have them, is `given`; what `data` does not have is not
    /// read.
    pub(crate) fn new(
        element: ElementType,
        shape: Vec<u64>,
        data: Data,
        given: u64,
    ) -> Result<Self> {
        if matches!(element, ElementType::Other(_)) {
            return Ok(Self { name: String::new(), element, shape, data });
        }
        match file_bytes(element, &shape) {
            Some(needed) if needed == given => {
                let data = data.carried(element, &shape);
                Ok(Self { name: String::new(), element, shape, data })
            }
            needed => {
                let shape = text(&shape);
                let needed = needed.map_or("a smaller shape".to_owned(), |it| it.to_string());
                let problem = format!("{given} bytes for {element} {shape}; accepted: {needed}");
                Err(Error::Malformed(problem))
            }
        }
    }

    /// The constant with the model's name of it.
    pub(crate) fn named(self, name: &str) -> Self {
        Self { name: shortened(name), ..self }
    }

    /// The tensor with its elements.
    pub(crate) fn load(&self) -> Result<Tensor> {
        let bytes = match &self.data {
            Data::Here(bytes) => bytes.clone(),
            Data::File { path, offset } => {
                let bytes = file_bytes(self.element, &self.shape).unwrap_or(0);
                let bytes = files::read_range(path, *offset, bytes)
                    .map_err(|error| error.in_file(&path.display().to_string()))?;
                carried(bytes, self.element, &self.shape)
            }
        };
        Tensor::new(self.element, self.shape.clone(), bytes)
    }
}

impl Data {
    fn carried(self, element: ElementType, shape: &[u64]) -> Self {
        match self {
            Self::Here(bytes) => Self::Here(carried(bytes, element, shape)),
            file @ Self::File { .. } => file,
        }
    }
}

/// The bytes of a file as tensors have them.
fn carried(bytes: Bytes, element: ElementType, shape: &[u64]) -> Bytes {
    let count = element_count(shape).and_then(|it| usize::try_from(it).ok());
    match element.half_byte() {
        Some(_) => spread(&bytes, element, count.unwrap_or(0)),
        None => bytes,
    }
}

impl From<Tensor> for Constant {
    fn from(tensor: Tensor) -> Self {
        let (element, shape) = (tensor.element_type(), tensor.shape().to_vec());
        let data = Data::Here(Bytes::copy_from_slice(tensor.bytes()));
        Self { name: String::new(), element, shape, data }
    }
}
