//! The workspace's own programs, built and ready to be started in another environment.

use std::path::PathBuf;

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::{process, setup, workspace};

/// Packages that one command needs together.
const TOGETHER: [&str; 2] = ["dml-cli", "dml-conformance"];

/// How a program is built.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Profile {
    /// Like the tests, as `ci` has built it already.
    Dev,
    /// For users.
    Release,
}

/// Builds the packages, and returns the folder of the results.
pub(crate) fn build_packages(sh: &Shell, names: &[&str], profile: Profile) -> Result<PathBuf> {
    let packages: Vec<&str> = names.iter().flat_map(|&name| ["--package", name]).collect();
    if profile == Profile::Dev {
        return made(sh, &packages, "");
    }
    process::succeed(cmd!(sh, "cargo build --locked --release {packages...}"))?;
    Ok(workspace::target_dir().join("release"))
}

/// Builds the program `name` of `package` and returns its path.
///
/// If packages are built separately, they request different features of their dependencies, which are then
/// built for each. So packages that are needed together are built together; in `ci` that is everything, as
/// the tests have built it.
pub(crate) fn build(sh: &Shell, package: &str, name: &str) -> Result<PathBuf> {
    let together = TOGETHER.contains(&package);
    let packages = if together { &TOGETHER[..] } else { &[package] };
    let packages: Vec<&str> = packages.iter().flat_map(|it| ["--package", it]).collect();
    made(sh, &packages, &format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

/// Builds the example `name` of `package` and returns its path.
pub(crate) fn example(sh: &Shell, package: &str, name: &str) -> Result<PathBuf> {
    let file = format!("examples/{name}{}", std::env::consts::EXE_SUFFIX);
    made(sh, &["--package", package, "--example", name], &file)
}

/// Builds the shared library that is the example `name` of `package` and returns its path.
pub(crate) fn example_library(sh: &Shell, package: &str, name: &str) -> Result<PathBuf> {
    let (prefix, suffix) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let file = format!("examples/{prefix}{name}{suffix}");
    made(sh, &["--package", package, "--example", name], &file)
}

/// Builds the targets in `named`, in `ci` everything, and returns the path of the file.
fn made(sh: &Shell, named: &[&str], file: &str) -> Result<PathBuf> {
    process::succeed(if setup::in_ci() {
        cmd!(sh, "cargo build --locked --quiet --workspace --all-targets --features dml-core/json")
    } else {
        cmd!(sh, "cargo build --locked").args(named)
    })?;
    Ok(workspace::target_dir().join("debug").join(file))
}
