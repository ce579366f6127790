//! The workspace's own programs, built and ready to be started in another environment.

use std::path::PathBuf;

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::{process, setup, workspace};

/// Builds the program `name` of `package` and returns its path.
///
/// `ci` builds everything together, as the tests did before: built alone, a package asks fewer
/// features of what it depends on, and all of that would be built again.
pub(crate) fn build(sh: &Shell, package: &str, name: &str) -> Result<PathBuf> {
    let command = if setup::in_ci() {
        cmd!(sh, "cargo build --locked --quiet --workspace --all-targets --features dml-core/json")
    } else {
        cmd!(sh, "cargo build --locked --package {package}")
    };
    process::succeed(command)?;
    Ok(workspace::target_dir().join("debug").join(format!("{name}{}", std::env::consts::EXE_SUFFIX)))
}
