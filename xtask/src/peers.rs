//! Other libraries for `bench --peers`: Python packages below `target/peers`.

use std::path::PathBuf;

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::pip::with_pip;
use crate::{process, workspace};

const SCRIPT: &str = "crates/dml-bench/peers/install.py";

/// Installs what is missing and returns the folder. What could not be had is noted there.
pub(crate) fn make_sure(sh: &Shell) -> Result<PathBuf> {
    let folder = workspace::root().join("target/peers");
    let install = || cmd!(sh, "python3 {SCRIPT} {folder}");
    let install = with_pip(sh, install()).unwrap_or_else(|error| {
        eprintln!("peers: {error:#}");
        install()
    });
    if let Err(error) = process::succeed(install) {
        eprintln!("peers: none could be had: {error:#}");
    }
    Ok(folder)
}
