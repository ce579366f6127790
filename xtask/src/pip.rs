//! Python's package installer.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use xshell::{Cmd, Shell, cmd};

use crate::packages::Packages;

/// `program`, a command of Python, with pip to import: the system's, or one that is unpacked below
/// `target/setup` where it has none.
pub(crate) fn with_pip<'a>(sh: &'a Shell, program: Cmd<'a>) -> Result<Cmd<'a>> {
    if cmd!(sh, "python3 -m pip --version").quiet().ignore_stderr().read().is_ok() {
        return Ok(program);
    }
    let wheel = from_apt(sh).context("python3 has no pip")?;
    Ok(program.env("PYTHONPATH", wheel))
}

/// A wheel can be used without being installed.
fn from_apt(sh: &Shell) -> Result<PathBuf> {
    let request = Packages::new("pip", &[]);
    let tree = Packages { alone: &[("python3-pip-whl", None)], ..request }.ensure(sh)?;
    let wheels = sh.read_dir(tree.root.join("usr/share/python-wheels"))?;
    let is_pip = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("pip-"))
    };
    wheels.into_iter().find(is_pip).context("the package holds no pip")
}
