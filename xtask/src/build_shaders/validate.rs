//! spirv-val.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::{process, workspace};

/// The environment that the kernels are for.
const TARGET_ENVIRONMENT: &str = "vulkan1.1";

/// The validator.
pub(super) struct Validator {
    program: PathBuf,
}

impl Validator {
    /// spirv-val on PATH, or as `cargo xtask setup` unpacked it.
    pub(super) fn find() -> Result<Self> {
        let unpacked = workspace::setup_dir().join("root/usr/bin/spirv-val");
        let program = process::find_program("spirv-val")
            .or_else(|| unpacked.is_file().then_some(unpacked))
            .context("spirv-val is not on PATH; `cargo xtask setup` provides it")?;
        Ok(Self { program })
    }

    /// Makes invalid SPIR-V an error that says what is invalid.
    pub(super) fn validate(&self, spirv: &[u8]) -> Result<()> {
        let mut child = Command::new(&self.program)
            .args(["--target-env", TARGET_ENVIRONMENT, "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("could not start {}", self.program.display()))?;
        let mut input = child.stdin.take().context("spirv-val has no standard input")?;
        let written = input.write_all(spirv);
        drop(input);
        let output = child.wait_with_output().context("spirv-val did not end")?;
        if !output.status.success() {
            let messages = [output.stdout, output.stderr].concat();
            bail!("spirv-val: {}", String::from_utf8_lossy(&messages).trim());
        }
        written.context("spirv-val did not read the whole module")
    }
}
