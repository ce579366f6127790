//! Tensors that are part of a model. Their elements are read only when they are needed: most never are.

#[cfg(feature = "execute")]
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use bytes::Bytes;

use crate::element::ElementType;
use crate::error::{Error, Result, shortened};
use crate::files::FileRange;
use crate::tensor::{Tensor, byte_count, element_count, file_bytes, spread, text};

/// A hash that constants of equal content share.
#[cfg(feature = "execute")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Fingerprint(u64);

/// The number of places of a constant that its fingerprint looks at.
#[cfg(feature = "execute")]
const SAMPLES: usize = 64;

/// A tensor of the model.
#[derive(Clone, Debug)]
pub(crate) struct Constant {
    /// The model's name of the tensor; empty if it has none.
    pub(crate) name: String,
    pub(crate) element: ElementType,
    pub(crate) shape: Vec<u64>,
    data: Data,
}

/// The location of the elements.
#[derive(Clone, Debug)]
pub(crate) enum Data {
    /// In memory: packed and little-endian.
    Here(Bytes),
    /// In a file, from which they are read when they are needed.
    File(FileRange),
    /// Zeros except for the listed elements.
    Sparse(Arc<Listed>),
}

/// The elements of a sparse tensor that are stored.
#[derive(Debug)]
pub(crate) struct Listed {
    /// Their positions in the dense tensor, in rising order.
    positions: Vec<usize>,
    /// Their values, packed and little-endian.
    values: Bytes,
}

impl Constant {
    /// A constant of which the file has `given` bytes, in the file's packing. Fails if that is not the size of
    /// the shape and type; elements are not read yet.
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

    /// The constant with the name that the model gives it.
    pub(crate) fn named(self, name: &str) -> Self {
        Self { name: shortened(name), ..self }
    }

    /// A sparse constant: zeros except for `values`, the elements at `positions`, which rise and are fewer than
    /// the shape's elements.
    pub(crate) fn sparse(shape: Vec<u64>, positions: Vec<usize>, values: &Tensor) -> Self {
        let element = values.element_type();
        let values = Bytes::copy_from_slice(values.bytes());
        let data = Data::Sparse(Arc::new(Listed { positions, values }));
        Self { name: String::new(), element, shape, data }
    }

    /// A hash of the name, the type, the shape, and a part of the content: different for most constants that differ.
    #[cfg(feature = "execute")]
    pub(crate) fn fingerprint(&self) -> Fingerprint {
        let mut hasher = DefaultHasher::new();
        (&self.name, &self.element, &self.shape).hash(&mut hasher);
        match &self.data {
            Data::Here(bytes) => samples(bytes).for_each(|it| it.hash(&mut hasher)),
            Data::File(range) => (&range.path, range.offset).hash(&mut hasher),
            Data::Sparse(listed) => samples(&listed.values).for_each(|it| it.hash(&mut hasher)),
        }
        Fingerprint(hasher.finish())
    }

    /// Whether both have the same name, type, shape and elements, as far as that is known without reading files.
    #[cfg(feature = "execute")]
    pub(crate) fn has_content_of(&self, other: &Self) -> bool {
        let is_same = match (&self.data, &other.data) {
            (Data::Here(one), Data::Here(other)) => {
                one.as_ptr() == other.as_ptr() && one.len() == other.len() || one == other
            }
            (Data::File(one), Data::File(other)) => one == other,
            (Data::Sparse(one), Data::Sparse(other)) => {
                one.positions == other.positions && one.values == other.values
            }
            _ => false,
        };
        is_same
            && (&self.name, self.element, &self.shape) == (&other.name, other.element, &other.shape)
    }

    /// Reads the elements.
    pub(crate) fn load(&self) -> Result<Tensor> {
        let bytes = match &self.data {
            Data::Here(bytes) => bytes.clone(),
            Data::File(range) => {
                let bytes = file_bytes(self.element, &self.shape).unwrap_or(0);
                let bytes = range
                    .read(bytes)
                    .map_err(|error| error.in_file(&range.path.display().to_string()))?;
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
    /// The packed bytes of all elements, zeros included: `bytes` of them.
    fn dense(&self, bytes: Option<u64>) -> Bytes {
        let bytes = bytes.and_then(|byte| usize::try_from(byte).ok()).unwrap_or(0);
        let width = self.values.len().checked_div(self.positions.len()).unwrap_or(0);
        let mut dense = vec![0; bytes];
        for (position, value) in self.positions.iter().zip(self.values.chunks_exact(width.max(1))) {
            dense[position * width..][..width].copy_from_slice(value);
        }
        dense.into()
    }
}

/// Bytes at places that are spread over all of them, and the last ones.
#[cfg(feature = "execute")]
fn samples(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let step = bytes.len().div_ceil(SAMPLES).max(8);
    bytes.chunks(step).map(|it| &it[..it.len().min(8)]).chain(bytes.rchunks(8).take(1))
}

/// Unpacks bytes of a file into the layout of tensors in memory, with one byte for each element of fewer than 8 bits.
fn carried(bytes: Bytes, element: ElementType, shape: &[u64]) -> Bytes {
    let count = element_count(shape).and_then(|it| usize::try_from(it).ok());
    match element.packed_bits() {
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
