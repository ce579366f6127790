//! Python's package installer.

use std::path::{Path, PathBuf};

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

/// Unpacks the wheel of `named`, such as `onnx==1.22.0`, and nothing that it asks for, into the folder `package`.
/// Whatever this system and its Python are: no program of it is run.
pub(crate) fn unpack(sh: &Shell, named: &str, package: &Path) -> Result<()> {
    let options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:"];
    let pip = cmd!(sh, "python3 -m pip install")
        .args(options)
        .args(["--target".as_ref(), package.as_os_str()])
        .arg(named);
    let fetched = with_pip(sh, pip)?.run();
    fetched.with_context(|| format!("pip cannot get {named}; is there a network connection?"))
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
