//! The workspace's own programs, built and ready to be started in another environment.

use std::path::PathBuf;

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::{process, setup, workspace};

/// What one command needs both of.
const TOGETHER: [&str; 2] = ["dml-cli", "dml-conformance"];

/// Builds the program `name` of `package` and returns its path.
///
/// Built apart, packages ask different features of what they depend on, and all of that is built
/// for each. So what is needed together is built together; in `ci` that is everything, as the tests
/// have built it.
pub(crate) fn build(sh: &Shell, package: &str, name: &str) -> Result<PathBuf> {
    let command = if setup::in_ci() {
        cmd!(sh, "cargo build --locked --quiet --workspace --all-targets --features dml-core/json")
    } else {
        let together = TOGETHER.contains(&package);
        let packages = if together { &TOGETHER[..] } else { &[package] };
        let packages = packages.iter().flat_map(|it| ["--package", it]);
        cmd!(sh, "cargo build --locked").args(packages)
    };
    process::succeed(command)?;
    Ok(workspace::target_dir()
        .join("debug")
        .join(format!("{name}{}", std::env::consts::EXE_SUFFIX)))
}
