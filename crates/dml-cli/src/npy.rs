//! Writes tensors as NumPy's .npy files.

use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::Context as _;
use dml::{DataType, Element as _, f16};
use npyz::{AutoSerialize, WriterBuilder as _};

/// Writes `bits` (row-major elements of `data_type`) with the given shape: the whole file, or none.
///
/// # Errors
/// The file cannot be written; a 4-bit type, which NumPy does not have.
pub(crate) fn write(
    path: &Path,
    data_type: DataType,
    shape: &[u32],
    bits: &[u64],
) -> anyhow::Result<()> {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let cannot = || format!("cannot write {}", path.display());
    // A temporary name first, so that a failure never leaves a half-written file.
    let file = tempfile::NamedTempFile::new_in(folder).with_context(cannot)?;
    let mut writer = BufWriter::new(file);
    write_to(&mut writer, data_type, shape, bits).with_context(cannot)?;
    let file =
        writer.into_inner().map_err(std::io::IntoInnerError::into_error).with_context(cannot)?;
    file.persist(path).with_context(cannot)?;
    Ok(())
}

fn write_to(
    writer: &mut impl Write,
    data_type: DataType,
    shape: &[u32],
    bits: &[u64],
) -> anyhow::Result<()> {
    match data_type {
        DataType::Float32 => elements(writer, shape, bits, f32::from_element_bits),
        DataType::Float16 => elements(writer, shape, bits, f16::from_element_bits),
        DataType::Float64 => elements(writer, shape, bits, f64::from_element_bits),
        DataType::Uint64 => elements(writer, shape, bits, u64::from_element_bits),
        DataType::Int64 => elements(writer, shape, bits, i64::from_element_bits),
        DataType::Uint32 => elements(writer, shape, bits, u32::from_element_bits),
        DataType::Int32 => elements(writer, shape, bits, i32::from_element_bits),
        DataType::Uint16 => elements(writer, shape, bits, u16::from_element_bits),
        DataType::Int16 => elements(writer, shape, bits, i16::from_element_bits),
        DataType::Uint8 => elements(writer, shape, bits, u8::from_element_bits),
        DataType::Int8 => elements(writer, shape, bits, i8::from_element_bits),
        DataType::Uint4 | DataType::Int4 => anyhow::bail!("NumPy has no type for {data_type}"),
    }
}

fn elements<T: AutoSerialize>(
    writer: &mut impl Write,
    shape: &[u32],
    bits: &[u64],
    element: fn(u64) -> T,
) -> anyhow::Result<()> {
    let shape: Vec<u64> = shape.iter().copied().map(u64::from).collect();
    let mut npy =
        npyz::WriteOptions::new().default_dtype().shape(&shape).writer(writer).begin_nd()?;
    npy.extend(bits.iter().copied().map(element))?;
    npy.finish()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip<T: npyz::Deserialize>(data_type: DataType, bits: &[u64]) -> (Vec<u64>, Vec<T>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.npy");
        write(&path, data_type, &[2, 2], bits).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let npy = npyz::NpyFile::new(bytes.as_slice()).unwrap();
        (npy.shape().to_vec(), npy.into_vec().unwrap())
    }

    #[test]
    fn files_read_back_with_their_type_and_shape() {
        let one = u64::from(1f32.to_bits());
        let (shape, values) = round_trip::<f32>(DataType::Float32, &[one, 0, 0, one]);
        assert_eq!((shape, values), (vec![2, 2], vec![1.0, 0.0, 0.0, 1.0]));
        let (_, values) = round_trip::<i8>(DataType::Int8, &[0xff, 1, 0, 0x80]);
        assert_eq!(values, [-1, 1, 0, -128]);
        let (_, values) = round_trip::<f16>(DataType::Float16, &[0x3c00, 0, 0, 0xfc00]);
        assert_eq!(values, [f16::ONE, f16::ZERO, f16::ZERO, f16::NEG_INFINITY]);
    }

    #[test]
    fn a_failure_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.npy");
        assert!(write(&path, DataType::Int4, &[2], &[1, 2]).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(write(&folder.path().join("no/x.npy"), DataType::Int8, &[1], &[1]).is_err());
    }
}
