//! Writes tensors as NumPy's .npy files.

use std::io::Write;
use std::path::Path;

use anyhow::Context as _;
use dml::{DataType, f16};
use dml_file::Output;
use npyz::{AutoSerialize, WriterBuilder as _};

/// Writes `bytes` (packed row-major elements of `data_type`) with the given shape: the whole file, or
/// none.
///
/// # Errors
/// The file cannot be written; a 4-bit type, which NumPy does not have.
pub(crate) fn write(
    path: &Path,
    data_type: DataType,
    shape: &[u32],
    bytes: &[u8],
) -> anyhow::Result<()> {
    let cannot = || format!("cannot write {}", path.display());
    let mut output = Output::create(path).with_context(cannot)?;
    write_to(&mut output, data_type, shape, bytes).with_context(cannot)?;
    output.commit().with_context(cannot)
}

fn write_to(
    writer: &mut impl Write,
    data_type: DataType,
    shape: &[u32],
    bytes: &[u8],
) -> anyhow::Result<()> {
    match data_type {
        DataType::Float32 => elements(writer, shape, bytes, f32::from_le_bytes),
        DataType::Float16 => elements(writer, shape, bytes, f16::from_le_bytes),
        DataType::Float64 => elements(writer, shape, bytes, f64::from_le_bytes),
        DataType::Uint64 => elements(writer, shape, bytes, u64::from_le_bytes),
        DataType::Int64 => elements(writer, shape, bytes, i64::from_le_bytes),
        DataType::Uint32 => elements(writer, shape, bytes, u32::from_le_bytes),
        DataType::Int32 => elements(writer, shape, bytes, i32::from_le_bytes),
        DataType::Uint16 => elements(writer, shape, bytes, u16::from_le_bytes),
        DataType::Int16 => elements(writer, shape, bytes, i16::from_le_bytes),
        DataType::Uint8 => elements(writer, shape, bytes, u8::from_le_bytes),
        DataType::Int8 => elements(writer, shape, bytes, i8::from_le_bytes),
        DataType::Uint4 | DataType::Int4 => anyhow::bail!("NumPy has no type for {data_type}"),
    }
}

fn elements<T: AutoSerialize, const N: usize>(
    writer: &mut impl Write,
    shape: &[u32],
    bytes: &[u8],
    element: fn([u8; N]) -> T,
) -> anyhow::Result<()> {
    let shape: Vec<u64> = shape.iter().copied().map(u64::from).collect();
    let mut npy =
        npyz::WriteOptions::new().default_dtype().shape(&shape).writer(writer).begin_nd()?;
    let (elements, _) = bytes.as_chunks::<N>();
    npy.extend(elements.iter().map(|bytes| element(*bytes)))?;
    npy.finish()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip<T: npyz::Deserialize>(data_type: DataType, bytes: &[u8]) -> (Vec<u64>, Vec<T>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.npy");
        write(&path, data_type, &[2, 2], bytes).unwrap();
        let file = std::fs::read(&path).unwrap();
        let npy = npyz::NpyFile::new(file.as_slice()).unwrap();
        (npy.shape().to_vec(), npy.into_vec().unwrap())
    }

    #[test]
    fn files_read_back_with_their_type_and_shape() {
        let floats: Vec<u8> = [1f32, 0.0, 0.0, 1.0].iter().flat_map(|f| f.to_le_bytes()).collect();
        let (shape, values) = round_trip::<f32>(DataType::Float32, &floats);
        assert_eq!((shape, values), (vec![2, 2], vec![1.0, 0.0, 0.0, 1.0]));
        let (_, values) = round_trip::<i8>(DataType::Int8, &[0xff, 1, 0, 0x80]);
        assert_eq!(values, [-1, 1, 0, -128]);
        let (_, values) = round_trip::<f16>(DataType::Float16, &[0, 0x3c, 0, 0, 0, 0, 0, 0xfc]);
        assert_eq!(values, [f16::ONE, f16::ZERO, f16::ZERO, f16::NEG_INFINITY]);
    }

    #[test]
    fn a_failure_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.npy");
        assert!(write(&path, DataType::Int4, &[2], &[1]).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(write(&folder.path().join("no/x.npy"), DataType::Int8, &[1], &[1]).is_err());
    }
}
