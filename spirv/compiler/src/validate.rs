//! Runs `spirv-val`.

use std::io::Write;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// The target environment of the kernels.
const TARGET_ENVIRONMENT: &str = "vulkan1.1";

/// A message of versions of spirv-val that do not know cooperative matrices, such as Debian 12's.
const TOO_OLD: &str = "Invalid capability operand: 6022";

/// Fails with the messages of `spirv-val` if the SPIR-V is invalid. Modules that the tool is too old to know pass,
/// with a note on stderr.
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
        let messages = String::from_utf8_lossy(&messages);
        if messages.contains(TOO_OLD) {
            eprintln!("not validated: spirv-val is older than cooperative matrices");
            return Ok(());
        }
        bail!("spirv-val: {}", messages.trim());
    }
    written.context("spirv-val did not read the whole module")
}
