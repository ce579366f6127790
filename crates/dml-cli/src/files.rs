//! Files that the commands write: complete, or not at all.

use std::io::{self, Write as _};
use std::path::Path;

use anyhow::Context as _;
use dml_file::Output;
use dml_import::{Tensor, npy};

/// Writes `tensor` in NumPy's .npy format.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn write_npy(path: &Path, tensor: &Tensor) -> anyhow::Result<()> {
    write(path, |output| npy::write(output, tensor))
}

/// Writes `bytes` unchanged.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn write_raw(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    write(path, |output| output.write_all(bytes))
}

fn write(path: &Path, content: impl FnOnce(&mut Output) -> io::Result<()>) -> anyhow::Result<()> {
    dml_file::write(path, content)
        .with_context(|| format!("cannot write {}", printable(&path.display().to_string())))
}

/// A name from a file, without control characters, which a terminal could interpret.
pub(crate) fn printable(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { '_' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dml::DataType;
    use dml_import::ElementType;

    #[test]
    fn files_read_back_with_their_type_and_shape() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.npy");
        let int8 = ElementType::Dml(DataType::Int8);
        write_npy(&path, &Tensor::new(int8, [2, 2], vec![0xff, 1, 0, 0x80]).unwrap()).unwrap();
        let file = std::fs::read(&path).unwrap();
        let npy = npyz::NpyFile::new(file.as_slice()).unwrap();
        assert_eq!(npy.shape(), [2, 2]);
        assert_eq!(npy.into_vec::<i8>().unwrap(), [-1, 1, 0, -128]);
    }

    #[test]
    fn a_failure_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let tensor = Tensor::new(ElementType::Bool, [1], vec![1]).unwrap();
        assert!(write_npy(&folder.path().join("no/x.npy"), &tensor).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
