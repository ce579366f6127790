//! Other libraries for `bench --peers`: Python packages below `target/peers`.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use xshell::{Shell, cmd};

use crate::packages::Packages;
use crate::{process, workspace};

const SCRIPT: &str = "crates/dml-bench/peers/install.py";

/// Installs what is missing and returns the folder. What could not be had is noted there.
pub(crate) fn make_sure(sh: &Shell) -> Result<PathBuf> {
    let folder = workspace::root().join("target/peers");
    let mut install = cmd!(sh, "python3 {SCRIPT} {folder}");
    if cmd!(sh, "python3 -m pip --version").quiet().ignore_stderr().read().is_err() {
        match pip_from_apt(sh) {
            Ok(wheel) => install = install.env("PYTHONPATH", wheel),
            Err(error) => eprintln!("peers: python3 has no pip: {error:#}"),
        }
    }
    if let Err(error) = process::succeed(install) {
        eprintln!("peers: none could be had: {error:#}");
    }
    Ok(folder)
}

/// A wheel can be used without being installed.
fn pip_from_apt(sh: &Shell) -> Result<PathBuf> {
    let request = Packages::new("pip", &[]);
    let tree = Packages { alone: &[("python3-pip-whl", None)], ..request }.ensure(sh)?;
    let wheels = sh.read_dir(tree.root.join("usr/share/python-wheels"))?;
    let is_pip = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("pip-"))
    };
    wheels.into_iter().find(is_pip).context("the package holds no pip")
}
