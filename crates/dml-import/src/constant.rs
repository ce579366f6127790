//! Tensors that are part of a model. Their elements are read when they are needed: most are not.

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;

use crate::element::ElementType;
use crate::error::{Error, Result, shortened};
use crate::files;
use crate::tensor::{Tensor, byte_count, element_count, file_bytes, spread, text};

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
    /// Zeros, but for these elements.
    Sparse(Arc<Listed>),
}

/// The elements of a sparse tensor.
#[derive(Debug)]
pub(crate) struct Listed {
    /// Which of the tensor's elements each one is, in rising order.
    positions: Vec<usize>,
    /// Packed and little-endian.
    values: Bytes,
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

    /// One of zeros but for `values`, the elements at `positions`: in rising order, and fewer than the shape has.
    pub(crate) fn sparse(shape: Vec<u64>, positions: Vec<usize>, values: &Tensor) -> Self {
        let element = values.element_type();
        let values = Bytes::copy_from_slice(values.bytes());
        let data = Data::Sparse(Arc::new(Listed { positions, values }));
        Self { name: String::new(), element, shape, data }
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
            Data::Sparse(listed) => listed.dense(byte_count(self.element, &self.shape)),
        };
        Tensor::new(self.element, self.shape.clone(), bytes)
    }
}

impl Data {
    fn carried(self, element: ElementType, shape: &[u64]) -> Self {
        match self {
            Self::Here(bytes) => Self::Here(carried(bytes, element, shape)),
            other => other,
        }
    }
}

impl Listed {
    /// The bytes of all elements, of which there are so many.
    fn dense(&self, bytes: Option<u64>) -> Bytes {
        let bytes = bytes.and_then(|it| usize::try_from(it).ok()).unwrap_or(0);
        let width = self.values.len().checked_div(self.positions.len()).unwrap_or(0);
        let mut dense = vec![0; bytes];
        for (position, value) in self.positions.iter().zip(self.values.chunks_exact(width.max(1))) {
            dense[position * width..][..width].copy_from_slice(value);
        }
        dense.into()
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
