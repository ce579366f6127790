//! Writes tensors as NumPy's .npy files.

use std::path::Path;

use anyhow::Context as _;
use dml_file::Output;
use dml_import::Tensor;

/// Writes `tensor`: the whole file, or none.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn write(path: &Path, tensor: &Tensor) -> anyhow::Result<()> {
    let cannot = || format!("cannot write {}", crate::run::plain(&path.display().to_string()));
    let mut output = Output::create(path).with_context(cannot)?;
    dml_import::npy::write(&mut output, tensor).with_context(cannot)?;
    output.commit().with_context(cannot)
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
        write(&path, &Tensor::new(int8, [2, 2], vec![0xff, 1, 0, 0x80]).unwrap()).unwrap();
        let file = std::fs::read(&path).unwrap();
        let npy = npyz::NpyFile::new(file.as_slice()).unwrap();
        assert_eq!(npy.shape(), [2, 2]);
        assert_eq!(npy.into_vec::<i8>().unwrap(), [-1, 1, 0, -128]);
    }

    #[test]
    fn a_failure_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let tensor = Tensor::new(ElementType::Bool, [1], vec![1]).unwrap();
        assert!(write(&folder.path().join("no/x.npy"), &tensor).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
