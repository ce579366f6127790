//! Python's package installer.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use xshell::{Cmd, Shell, cmd};

use crate::packages::Packages;
use crate::workspace;

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
    install(sh, &["--no-deps", named], package)
}

/// Installs what is `named`, with options of pip among the names, into the folder `packages`.
pub(crate) fn install<T: AsRef<OsStr>>(sh: &Shell, named: &[T], packages: &Path) -> Result<()> {
    let options = ["--quiet", "--disable-pip-version-check", "--only-binary", ":all:"];
    let pip = cmd!(sh, "python3 -m pip install")
        .args(options)
        .args(["--target".as_ref(), packages.as_os_str()])
        .args(named);
    let fetched = with_pip(sh, pip)?.run();
    fetched.with_context(|| {
        let named: Vec<_> = named.iter().map(|it| it.as_ref().to_string_lossy()).collect();
        format!("pip cannot get {}; is there a network connection?", named.join(" "))
    })
}

/// The folder of packages that are installed once and kept as `name` in the folder `group` of the user's cache
/// folder. Waits for other processes that fetch some of this group.
pub(crate) fn kept(sh: &Shell, group: &str, name: &str, named: &[&str]) -> Result<PathBuf> {
    let tools = workspace::tools_dir();
    let packages = tools.join(group).join(name);
    sh.create_dir(tools.join(group))?;
    let lock = File::create(tools.join(format!("{group}.lock")))?;
    lock.lock().with_context(|| format!("locking the folder of {group}"))?;
    // It appears in one rename when it is complete.
    if !packages.is_dir() {
        eprintln!("{group}: fetching {name}");
        let work = tools.join(format!("{group}.work"));
        sh.remove_path(&work)?;
        install(sh, named, &work)?;
        std::fs::rename(&work, &packages).context("moving packages into place")?;
    }
    Ok(packages)
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
