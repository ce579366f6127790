//! A tensor in host memory.

use bytes::Bytes;

use crate::convert::{convert, from_integer, integer};
use crate::element::ElementType;
use crate::error::{Error, Result};
use crate::limits;

/// A tensor in host memory: packed little-endian elements in row-major order. Each element of fewer than 8
/// bits takes one byte.
///
/// A cheap handle: clones share the elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    element: ElementType,
    shape: Vec<u64>,
    bytes: Bytes,
}

impl Tensor {
    /// A tensor of `shape` with these elements.
    ///
    /// # Errors
    /// [`Error::Malformed`]: the number of bytes does not fit the shape and type, a truth value is neither 0
    /// nor 1, or a value of a type of fewer than 8 bits is out of its range.
    pub fn new(
        element: ElementType,
        shape: impl Into<Vec<u64>>,
        bytes: impl Into<Bytes>,
    ) -> Result<Self> {
        let (shape, bytes) = (shape.into(), bytes.into());
        let given = bytes.len();
        let needed = byte_count(element, &shape).ok_or_else(|| {
            Error::malformed(format!("a tensor {element} {} is not supported", text(&shape)))
        })?;
        if u64::try_from(given) != Ok(needed) {
            let shape = text(&shape);
            let problem =
                format!("{given} bytes are given for {element} {shape}; accepted: {needed}");
            return Err(Error::Malformed(problem));
        }
        if let Some((least, most)) = element.range() {
            let mut values = bytes.iter().map(|byte| integer(u64::from(*byte), element));
            if let Some(wrong) = values.find(|value| !(least..=most).contains(value)) {
                let problem =
                    format!("{wrong} is not a value of {element}; accepted: {least} to {most}");
                return Err(Error::Malformed(problem));
            }
        }
        Ok(Self { element, shape, bytes })
    }

    /// The type of the elements.
    pub fn element_type(&self) -> ElementType {
        self.element
    }

    /// The sizes of the dimensions, outermost first.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// The elements.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The elements, without a copy.
    pub fn into_bytes(self) -> Bytes {
        self.bytes
    }

    /// Reinterprets the bits as another type of the same size.
    ///
    /// # Errors
    /// As [`Tensor::new`].
    pub(crate) fn cast_bits(self, element: ElementType) -> Result<Self> {
        Self::new(element, self.shape, self.bytes)
    }

    /// The tensor as another type of the same size, for which all of its bit patterns must be valid.
    pub(crate) fn with_element(mut self, element: ElementType) -> Self {
        debug_assert_eq!(self.element.size(), element.size());
        self.element = element;
        self
    }

    /// The tensor with another shape of as many elements.
    pub(crate) fn reshaped(mut self, shape: Vec<u64>) -> Self {
        debug_assert_eq!(element_count(&self.shape), element_count(&shape));
        self.shape = shape;
        self
    }

    pub(crate) fn from_integers(shape: Vec<u64>, values: &[i64]) -> Self {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Self { element: ElementType::INT64, shape, bytes: bytes.into() }
    }

    /// A tensor whose elements all have these bits; fails beyond the limit of host evaluation.
    pub(crate) fn filled(element: ElementType, shape: Vec<u64>, bits: u64) -> Result<Self> {
        let count = host_elements(&shape)?;
        let size = width(element);
        let bytes = bits.to_le_bytes()[..size].repeat(count);
        Ok(Self { element, shape, bytes: bytes.into() })
    }

    /// A tensor of elements with these bits, in row-major order.
    pub(crate) fn of_bits(
        element: ElementType,
        shape: impl Into<Vec<u64>>,
        bits: impl IntoIterator<Item = u64>,
    ) -> Result<Self> {
        let size = width(element);
        let bits = bits.into_iter();
        let mut bytes = Vec::with_capacity(bits.size_hint().0 * size);
        bits.for_each(|it| bytes.extend_from_slice(&it.to_le_bytes()[..size]));
        Self::new(element, shape, bytes)
    }

    pub(crate) fn bits(&self) -> impl Iterator<Item = u64> {
        self.bytes.chunks_exact(width(self.element).max(1)).map(|chunk| {
            let mut bits = [0; 8];
            bits[..chunk.len()].copy_from_slice(chunk);
            u64::from_le_bytes(bits)
        })
    }

    /// The values of an integer tensor; `None` for floats, and for values that do not fit an `i64`.
    pub(crate) fn integers(&self) -> Option<Vec<i64>> {
        if !self.element.is_integer() {
            return None;
        }
        self.bits().map(|bits| integer(bits, self.element).try_into().ok()).collect()
    }

    /// The elements converted to another type.
    pub(crate) fn converted(&self, element: ElementType) -> Result<Self> {
        host_elements(&self.shape)?;
        let bits = self.bits().map(|bits| convert(bits, self.element, element));
        Self::of_bits(element, self.shape.as_slice(), bits)
    }

    /// A tensor of the elements at `indices`, which must be in range.
    pub(crate) fn picked(&self, shape: Vec<u64>, indices: &[usize]) -> Self {
        let size = width(self.element);
        let at = |index: &usize| &self.bytes[index * size..(index + 1) * size];
        let bytes: Vec<u8> = indices.iter().flat_map(at).copied().collect();
        Self { element: self.element, shape, bytes: bytes.into() }
    }
}

fn width(element: ElementType) -> usize {
    usize::try_from(element.size().unwrap_or(0)).unwrap_or(0)
}

/// Unpacks `count` elements of fewer than 8 bits, which share bytes of `packed`, the first in the lowest bits, to
/// one byte each.
pub(crate) fn spread(packed: &[u8], element: ElementType, count: usize) -> Bytes {
    let bits = element.packed_bits().unwrap_or(8);
    let parts = packed.iter().flat_map(|byte| (0..8 / bits).map(move |at| byte >> (at * bits)));
    let carried = |part: u8| match element.narrow_integer() {
        Some(_) => from_integer(part.into(), element).to_le_bytes()[0],
        None => part & (u8::MAX >> (8 - bits)),
    };
    parts.take(count).map(carried).collect()
}

/// Bytes of a tensor in a file: as in memory, except that elements of fewer than 8 bits share bytes.
pub(crate) fn file_bytes(element: ElementType, shape: &[u64]) -> Option<u64> {
    let carried = byte_count(element, shape)?;
    Some(match element.packed_bits() {
        Some(bits) => carried.div_ceil(u64::from(8 / bits)),
        None => carried,
    })
}

/// The number of elements; `None` if it does not fit 64 bits. A dimension of size 0 makes it 0, whatever the
/// other sizes are.
pub(crate) fn element_count(shape: &[u64]) -> Option<u64> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(1u64, |count, size| count.checked_mul(*size))
}

/// The number of elements of `shape`; fails beyond the limit of host evaluation.
pub(crate) fn host_elements(shape: &[u64]) -> Result<usize> {
    element_count(shape)
        .filter(|count| *count <= limits::HOST_ELEMENTS)
        .and_then(|count| usize::try_from(count).ok())
        .ok_or_else(|| {
            let (shape, most) = (text(shape), limits::HOST_ELEMENTS);
            Error::malformed(format!(
                "{shape} is too large to be computed on the host; accepted: up to {most} elements"
            ))
        })
}

/// Bytes of a tensor in memory; `None` if tensors cannot have the type, or the size does not fit 64 bits.
pub(crate) fn byte_count(element: ElementType, shape: &[u64]) -> Option<u64> {
    element_count(shape)?.checked_mul(element.size()?)
}

/// A shape as messages show it: `[2, 3]`.
pub(crate) fn text(shape: &[u64]) -> String {
    crate::error::shortened(&format!("{shape:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dml_core::DataType;

    #[test]
    fn the_number_of_bytes_must_fit() {
        let error = Tensor::new(ElementType::FLOAT32, [2, 3], vec![0; 23]).unwrap_err();
        assert_eq!(error.to_string(), "23 bytes are given for float32 [2, 3]; accepted: 24");
        assert!(Tensor::new(ElementType::FLOAT32, [0, u64::MAX, 2], vec![]).is_ok());
        assert!(Tensor::new(ElementType::FLOAT32, [u64::MAX, 2], vec![]).is_err());
        assert!(Tensor::new(ElementType::Other("string"), [0], vec![]).is_err());
        let message =
            |element, byte: u8| Tensor::new(element, [1], vec![byte]).unwrap_err().to_string();
        assert_eq!(message(ElementType::Bool, 2), "2 is not a value of bool; accepted: 0 to 1");
        assert_eq!(
            message(ElementType::Int4, 0xf7),
            "-9 is not a value of int4; accepted: -8 to 7"
        );
        assert_eq!(
            message(ElementType::Uint4, 16),
            "16 is not a value of uint4; accepted: 0 to 15"
        );
    }

    #[test]
    fn integers_are_read_with_their_sign() {
        let tensor = Tensor::new(ElementType::Dml(DataType::Int16), [2], vec![255, 255, 1, 0]);
        assert_eq!(tensor.unwrap().integers(), Some(vec![-1, 1]));
        let tensor = Tensor::new(ElementType::Dml(DataType::Uint64), [1], vec![255; 8]);
        assert_eq!(tensor.unwrap().integers(), None);
    }
}
