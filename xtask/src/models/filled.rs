//! Models that come without weights and get random ones: the networks in the package `onnx`.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::Deserialize;
use xshell::{Shell, cmd};

use super::package;
use crate::{pip, process, workspace};

/// The packages that the scripts import, and the one with the models.
pub(super) const TOOLS: [&str; 2] = ["onnxruntime==1.32.0", "onnx==1.23.2"];
const FILL: &str = "xtask/src/models/fill.py";
const MEASURE: &str = "xtask/src/models/measure.py";

/// A model in the package `onnx`: its file has its name.
#[derive(Deserialize)]
struct Model {
    name: String,
    sha256: String,
}

/// Prepares all of them in `folder`, as links to cached files: their weights are drawn once. `index` lists them.
pub(super) fn lay_out(sh: &Shell, index: &Path, folder: &Path) -> Result<()> {
    let models: Vec<Model> = serde_json::from_str(&sh.read_file(index)?)
        .context("reading the index of models without weights")?;
    let tools = tools(sh)?;
    let kept = package::made_by(sh, "filled-models", &TOOLS, &[FILL])?;
    for Model { name, sha256 } in &models {
        let made = kept.join(name);
        if !made.is_dir() {
            let source = package::find(sh, &tools, &format!("{name}.onnx"), sha256)?;
            let work = kept.join("work");
            sh.remove_path(&work)?;
            process::succeed(python(sh, &tools, FILL).arg(source).arg(&work))?;
            std::fs::rename(&work, &made).context("moving a model into place")?;
        }
        let data = folder.join(name).join("test_data_set_0");
        sh.create_dir(&data)?;
        for file in ["model.onnx", "test_data_set_0/input_0.npy", "test_data_set_0/output_0.npy"] {
            let (from, to) = (made.join(file), folder.join(name).join(file));
            std::fs::hard_link(from, to).with_context(|| format!("laying out {name}"))?;
        }
    }
    Ok(())
}

/// The latencies of ONNX Runtime on the CPU for the models in `folder`: a file for `dml-conformance onnx --beside`.
pub(super) fn measured(sh: &Shell, folder: &Path) -> Result<PathBuf> {
    eprintln!("models: measuring ONNX Runtime");
    let taken = python(sh, &tools(sh)?, MEASURE).arg(folder).quiet().read()?;
    let file = workspace::root().join("target/models-onnxruntime.json");
    sh.write_file(&file, taken)?;
    Ok(file)
}

/// The folder of packages for the scripts that make models.
pub(super) fn tools(sh: &Shell) -> Result<PathBuf> {
    pip::kept(sh, "models", &TOOLS.join("+"), &TOOLS)
}

pub(super) fn python<'a>(sh: &'a Shell, tools: &Path, script: &str) -> xshell::Cmd<'a> {
    // Scripts that import each other would leave compiled ones beside them.
    let python = cmd!(sh, "python3 {script}").env("PYTHONDONTWRITEBYTECODE", "1");
    python.env("PYTHONPATH", tools)
}
