//! spirv-val.

use std::io::Write;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// The environment that the kernels are for.
const TARGET_ENVIRONMENT: &str = "vulkan1.1";

/// Makes invalid SPIR-V an error that says what is invalid.
pub(crate) fn validate(spirv: &[u8]) -> Result<()> {
    let mut child = Command::new("spirv-val")
        .args(["--target-env", TARGET_ENVIRONMENT, "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("could not start spirv-val; `cargo xtask setup` provides it")?;
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
