//! Public models as works, where their folder is there.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use dml_import::{Inputs, Model, npy};

use crate::budgets::Work;

/// The models of a folder as `cargo xtask models` lays them out, by name: for each a folder with `model.onnx`, and
/// its inputs in `test_data_set_0`.
///
/// # Errors
/// There is no model, a file cannot be read, or a model does not take its inputs. One whose shapes follow from
/// what a device computes has no plan before it runs, and is refused too.
pub fn of_folder(folder: &Path) -> Result<Vec<Work>> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut folders: Vec<PathBuf> =
        entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    folders.retain(|folder| folder.join("model.onnx").is_file());
    ensure!(!folders.is_empty(), "there is no model in {}", folder.display());
    folders.sort();
    folders
        .iter()
        .map(|folder| work(folder).with_context(|| folder.display().to_string()))
        .collect()
}

fn work(folder: &Path) -> Result<Work> {
    let model = Model::read(folder.join("model.onnx"))?;
    let mut inputs = Inputs::new();
    let required = model.inspect(&inputs)?.inputs;
    for (number, input) in required.into_iter().enumerate() {
        let file = folder.join("test_data_set_0").join(format!("input_{number}.npy"));
        if file.is_file() {
            inputs = inputs.with_tensor(input.value.name, npy::read(&file)?);
        }
    }
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Work { name, program: model.bind(&inputs)? })
}
