//! Other libraries for `bench --peers` and `models --peers`: Python packages below `target/peers`.

use std::path::PathBuf;

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::pip::with_pip;
use crate::{process, workspace};

const FOLDER: &str = "crates/dml-bench/peers";

/// The file with the fixed versions of a library's packages.
pub(crate) fn requirements(library: &str) -> PathBuf {
    workspace::root().join(FOLDER).join("requirements").join(format!("{library}.txt"))
}

/// Installs what is missing of these, by the names of their requirements, and returns the folder. What could not
/// be had is noted there.
pub(crate) fn make_sure(sh: &Shell, names: &[&str]) -> Result<PathBuf> {
    let folder = workspace::root().join("target/peers");
    let install = || cmd!(sh, "python3 {FOLDER}/install.py {folder} {names...}");
    let install = with_pip(sh, install()).unwrap_or_else(|error| {
        eprintln!("peers: {error:#}");
        install()
    });
    if let Err(error) = process::succeed(install) {
        eprintln!("peers: none could be had: {error:#}");
    }
    Ok(folder)
}
