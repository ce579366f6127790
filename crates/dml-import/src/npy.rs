//! Reads and writes NumPy's .npy files, for the inputs and outputs of models.
//!
//! bfloat16, which NumPy does not have, is written as its UINT16 bit pattern.

mod header;

use std::io::{self, Write};
use std::path::Path;

use bytes::Bytes;
use header::Header;

use crate::element::ElementType;
use crate::error::{Error, Result};
use crate::tensor::{Tensor, byte_count, text as text_of};
use crate::{files, limits};

/// Bytes of the longest header that is read.
const HEADER_BYTES: usize = 1 << 16;

/// Reads a tensor from a file.
///
/// # Errors
/// [`Error::InFile`]: the file cannot be read, is not a .npy file, or has elements of a type that no
/// tensor has.
pub fn read(path: &Path) -> Result<Tensor> {
    let bytes = files::read(path, limits::TENSOR_BYTES);
    bytes.and_then(from_bytes).map_err(|error| error.in_file(&path.display().to_string()))
}

/// Reads a tensor from the bytes of a file.
///
/// # Errors
/// As [`read`].
pub fn from_bytes(bytes: impl Into<Bytes>) -> Result<Tensor> {
    let bytes = bytes.into();
    let refused = |problem: String| Error::Malformed(format!("is not a .npy file: {problem}"));
    let (start, end) = header_range(&bytes).ok_or_else(|| refused("it has no header".into()))?;
    let text = String::from_utf8_lossy(&bytes[start..end]);
    let Header { element, big_endian, column_major, shape } =
        Header::parse(&text).map_err(refused)?;
    if shape.len() > limits::RANK {
        return Err(refused(format!("{} dimensions are too many", shape.len())));
    }
    let data = bytes.slice(end..);
    if byte_count(element, &shape) != u64::try_from(data.len()).ok() {
        let (given, shape) = (data.len(), text_of(&shape));
        return Err(refused(format!("{given} bytes follow for {element} {shape}")));
    }
    let data = if big_endian { swapped(&data, element) } else { data };
    if column_major && shape.len() > 1 {
        return transposed(element, shape, &data);
    }
    Tensor::new(element, shape, data)
}

/// The byte range of the header, by its own length field.
fn header_range(bytes: &[u8]) -> Option<(usize, usize)> {
    let rest = bytes.strip_prefix(b"\x93NUMPY")?;
    let (start, length) = match rest.first()? {
        1 => (10, usize::from(u16::from_le_bytes(rest.get(2..4)?.try_into().ok()?))),
        _ => (12, usize::try_from(u32::from_le_bytes(rest.get(2..6)?.try_into().ok()?)).ok()?),
    };
    let end = start + length;
    (length <= HEADER_BYTES && end <= bytes.len()).then_some((start, end))
}

fn swapped(data: &[u8], element: ElementType) -> Bytes {
    let width = usize::try_from(element.size().unwrap_or(1)).unwrap_or(1);
    let mut all = data.to_vec();
    all.chunks_exact_mut(width).for_each(<[u8]>::reverse);
    all.into()
}

/// Reorders elements from column-major to row-major order.
fn transposed(element: ElementType, shape: Vec<u64>, data: &[u8]) -> Result<Tensor> {
    let width = usize::try_from(element.size().unwrap_or(1)).unwrap_or(1);
    let mut all = Vec::with_capacity(data.len());
    let mut position = vec![0u64; shape.len()];
    for _ in 0..data.len() / width {
        // In column-major order the first dimension varies fastest.
        let pairs = position.iter().zip(&shape).rev();
        let index = pairs.fold(0, |index, (at, size)| index * size + at);
        let start = usize::try_from(index).unwrap_or(usize::MAX).saturating_mul(width);
        all.extend_from_slice(data.get(start..start.saturating_add(width)).unwrap_or_default());
        for (at, size) in position.iter_mut().zip(&shape).rev() {
            *at += 1;
            if *at < *size {
                break;
            }
            *at = 0;
        }
    }
    Tensor::new(element, shape, all)
}

/// Writes a tensor as a .npy file.
///
/// # Errors
/// Errors of `writer`; [`io::ErrorKind::Unsupported`]: NumPy does not have the type.
pub fn write(writer: &mut impl Write, tensor: &Tensor) -> io::Result<()> {
    let element = tensor.element_type();
    let header = header::text(element, tensor.shape()).ok_or_else(|| {
        io::Error::new(io::ErrorKind::Unsupported, format!("NumPy has no type for {element}"))
    })?;
    let length = u16::try_from(header.len())
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "too many dimensions"))?;
    writer.write_all(b"\x93NUMPY\x01\x00")?;
    writer.write_all(&length.to_le_bytes())?;
    writer.write_all(header.as_bytes())?;
    writer.write_all(tensor.bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use dml_core::DataType;

    fn round_trip(tensor: &Tensor) -> Tensor {
        let mut file = Vec::new();
        write(&mut file, tensor).unwrap();
        from_bytes(file).unwrap()
    }

    #[test]
    fn tensors_read_back() {
        for (element, bytes) in [
            (ElementType::Bool, vec![0, 1]),
            (ElementType::FLOAT32, 1f32.to_bits().to_le_bytes().repeat(2)),
            (ElementType::INT64, vec![255; 16]),
            (ElementType::Dml(DataType::Float16), vec![0, 0x3c, 0, 0]),
        ] {
            let tensor = Tensor::new(element, [2, 1], bytes).unwrap();
            assert_eq!(round_trip(&tensor), tensor);
        }
        let empty = Tensor::new(ElementType::INT64, [0, 3], vec![]).unwrap();
        assert_eq!(round_trip(&empty), empty);
        let scalar = Tensor::new(ElementType::INT64, [], vec![1; 8]).unwrap();
        assert_eq!(round_trip(&scalar), scalar);
    }

    #[test]
    fn a_shape_whose_product_is_0_may_have_any_other_sizes() {
        let shape = [2222, 1, 1_222_222, 2221, 12_222_222, 2222, 0];
        let tensor = Tensor::new(ElementType::Bool, shape, vec![]).unwrap();
        assert_eq!(round_trip(&tensor), tensor);
    }

    #[test]
    fn bfloat16_is_written_as_its_bits() {
        let tensor = Tensor::new(ElementType::Bfloat16, [1], vec![0x80, 0x3f]).unwrap();
        let read = round_trip(&tensor);
        assert_eq!(read.element_type(), ElementType::Dml(DataType::Uint16));
        assert_eq!(read.bytes(), [0x80, 0x3f]);
    }

    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        let length = u16::try_from(header.len() + 1).unwrap().to_le_bytes();
        [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), b"\n", data].concat()
    }

    #[test]
    fn column_major_and_big_endian_files_are_read() {
        let header = "{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }";
        let data: Vec<u8> = [1i16, 4, 2, 5, 3, 6].iter().flat_map(|it| it.to_be_bytes()).collect();
        let tensor = from_bytes(file(header, &data)).unwrap();
        assert_eq!(tensor.integers(), Some(vec![1, 2, 3, 4, 5, 6]));
    }

    #[test]
    fn sizes_that_the_file_does_not_have_are_refused() {
        let header =
            "{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 4), }";
        let error = from_bytes(file(header, &[0; 16])).unwrap_err().to_string();
        assert!(error.contains("16 bytes follow for float32"), "{error}");
        let header = "{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }";
        let error = from_bytes(file(header, &[0; 8])).unwrap_err().to_string();
        assert!(error.contains("are not supported"), "{error}");
        assert!(from_bytes(&b"\x93NUMPY\x02\x00\xff\xff\xff\xff"[..]).is_err());
        assert!(from_bytes(&b""[..]).is_err());
    }
}
