//! Sparse tensors: zeros except for the elements that a file lists with their indices.

use crate::constant::Constant;
use crate::element::ElementType;
use crate::error::{Error, Result, shortened};
use crate::files::Folder;
use crate::limits;
use crate::tensor::{Tensor, byte_count, element_count, text};

use super::proto::{GraphProto, SparseTensorProto, TensorProto};
use super::tensor;

/// An initializer of a graph.
#[derive(Clone, Copy)]
pub(super) enum Initializer<'a> {
    Dense(&'a TensorProto),
    Sparse(&'a SparseTensorProto),
}

/// The initializers of a graph.
pub(super) fn initializers(graph: &GraphProto) -> Vec<Initializer<'_>> {
    let dense = graph.initializer.iter().map(Initializer::Dense);
    dense.chain(graph.sparse_initializer.iter().map(Initializer::Sparse)).collect()
}

impl<'a> Initializer<'a> {
    pub(super) fn name(self) -> &'a str {
        match self {
            Self::Dense(tensor) => &tensor.name,
            Self::Sparse(sparse) => name_of(sparse),
        }
    }

    /// Reads the tensor, whose external data is in `folder`.
    pub(super) fn constant(self, folder: Option<&Folder>) -> Result<Constant> {
        match self {
            Self::Dense(tensor) => tensor::constant(tensor, folder),
            Self::Sparse(sparse) => constant(sparse, folder),
        }
    }
}

/// The name of a sparse tensor, which is the name of its values.
fn name_of(sparse: &SparseTensorProto) -> &str {
    sparse.values.as_ref().map_or("", |values| &values.name)
}

/// Reads a sparse tensor of the model, whose external data is in `folder`.
pub(super) fn constant(sparse: &SparseTensorProto, folder: Option<&Folder>) -> Result<Constant> {
    parsed(sparse, folder).map_err(|error| {
        let name = shortened(name_of(sparse));
        Error::malformed(format!("sparse tensor '{name}': {error}"))
    })
}

fn parsed(sparse: &SparseTensorProto, folder: Option<&Folder>) -> Result<Constant> {
    let shape = tensor::shape(&sparse.dims)?;
    let part = |part: &Option<TensorProto>, name: &str| {
        let missing = || Error::malformed(format!("it has no {name}"));
        tensor::constant(part.as_ref().ok_or_else(missing)?, folder)
    };
    let (values, indices) = (part(&sparse.values, "values")?, part(&sparse.indices, "indices")?);
    if matches!(values.element, ElementType::Other(_)) {
        return Err(Error::malformed(format!("{} is not a supported tensor type", values.element)));
    }
    let &[count] = values.shape.as_slice() else {
        let given = text(&values.shape);
        return Err(Error::malformed(format!("values of {given}; accepted: one dimension")));
    };
    let size = byte_count(values.element, &shape).filter(|size| *size <= limits::SPARSE_BYTES);
    if size.is_none() || element_count(&shape).is_none_or(|elements| elements < count) {
        let (shape, limit) = (text(&shape), limits::SPARSE_BYTES);
        return Err(Error::malformed(format!(
            "{count} values in {shape}; accepted: as many values as elements at most, in at most \
             {limit} bytes"
        )));
    }
    let positions = positions(&indices, &shape, count)?;
    Ok(Constant::sparse(shape, positions, &values.load()?))
}

/// The positions of `count` listed elements in a tensor of `shape`.
fn positions(indices: &Constant, shape: &[u64], count: u64) -> Result<Vec<usize>> {
    let rank = shape.len() as u64;
    let is_linear = indices.shape == [count];
    if indices.element != ElementType::INT64 || !(is_linear || indices.shape == [count, rank]) {
        let given = format!("indices of {} {}", indices.element, text(&indices.shape));
        let accepted = format!("int64 [{count}] or [{count}, {rank}]");
        return Err(Error::malformed(format!("{given}; accepted: {accepted}")));
    }
    let loaded: Tensor = indices.load()?;
    let integers = loaded.integers().unwrap_or_default();
    // Upper bounds of an index's coordinates.
    let whole = [element_count(shape).unwrap_or(u64::MAX)];
    let sizes = if is_linear { &whole[..] } else { shape };
    let mut positions: Vec<usize> = Vec::with_capacity(integers.len());
    for value in 0..usize::try_from(count).unwrap_or(0) {
        let index = &integers[value * sizes.len()..][..sizes.len()];
        let position = position(index, sizes)?;
        if positions.last().is_some_and(|before| *before >= position) {
            let problem = format!("index {} is not after the one before it", list(index));
            return Err(Error::malformed(format!(
                "{problem}; accepted: each once, in rising order"
            )));
        }
        positions.push(position);
    }
    Ok(positions)
}

/// The position of the element at these coordinates.
fn position(index: &[i64], sizes: &[u64]) -> Result<usize> {
    let mut position = 0;
    for (at, size) in index.iter().zip(sizes) {
        let within = u64::try_from(*at).ok().filter(|at| at < size);
        let at = within.ok_or_else(|| {
            let problem = format!("index {} is out of range", list(index));
            Error::malformed(format!("{problem}; accepted: below {}", text(sizes)))
        })?;
        // The position is below the number of elements, which is limited.
        position = position * size + at;
    }
    Ok(usize::try_from(position).unwrap_or(usize::MAX))
}

fn list(index: &[i64]) -> String {
    shortened(&format!("{index:?}"))
}
