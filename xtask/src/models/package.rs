//! Files in packages.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use xshell::{Shell, cmd};

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
