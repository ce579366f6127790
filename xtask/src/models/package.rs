//! Files in packages, and files that scripts make of them.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use xshell::{Shell, cmd};

use crate::workspace;

/// The file of this name and digest, wherever it is in the folder.
pub(super) fn find(sh: &Shell, package: &Path, file: &str, sha256: &str) -> Result<PathBuf> {
    let found = cmd!(sh, "find {package} -type f -name {file}").quiet().read()?;
    for path in found.lines() {
        if digest(sh, path.as_ref())? == sha256 {
            return Ok(path.into());
        }
    }
    let package = package.file_name().unwrap_or_default().display();
    anyhow::bail!("{package} has no {file} with the digest {sha256}")
}

/// The SHA-256 of a file.
pub(super) fn digest(sh: &Shell, path: &Path) -> Result<String> {
    let line = cmd!(sh, "sha256sum {path}").quiet().read()?;
    let digest = line.split_whitespace().next();
    digest.map(str::to_owned).context("sha256sum printed nothing")
}

/// The folder `target/NAME` for the results of these scripts and packages; emptied where other ones made its contents.
pub(super) fn made_by(sh: &Shell, name: &str, tools: &[&str], scripts: &[&str]) -> Result<PathBuf> {
    let folder = workspace::root().join("target").join(name);
    let mut makers = tools.join(" ");
    for script in scripts {
        makers = format!("{makers} {}", digest(sh, script.as_ref())?);
    }
    let stamp = folder.join("made-by");
    if !stamp.is_file() || sh.read_file(&stamp)? != makers {
        sh.remove_path(&folder)?;
        sh.create_dir(&folder)?;
        sh.write_file(stamp, makers)?;
    }
    Ok(folder)
}
