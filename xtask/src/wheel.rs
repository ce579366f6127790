//! `cargo xtask wheel`: Python's package of the plug-in for ONNX Runtime.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use dml_file::println;
use xshell::{Shell, cmd};

use crate::programs::{self, Profile};
use crate::{dist, workspace};

/// Build Python's package of the ONNX Runtime plug-in
#[derive(clap::Args)]
pub(crate) struct Args {}

const LIBRARY: &str = "libonnxruntime_dmlvk.so";
const SOURCES: &str = "crates/dml-ort/python";
const SCRIPT: &str = include_str!("wheel/pack.py");

/// Runs the command.
pub(crate) fn run(sh: &Shell) -> Result<()> {
    let wheel = build(sh, Profile::Release)?;
    println!("{}", wheel.strip_prefix(workspace::root()).unwrap_or(&wheel).display());
    Ok(())
}

/// The path of the package, which is built and packed.
pub(crate) fn build(sh: &Shell, profile: Profile) -> Result<PathBuf> {
    let built = programs::build_packages(sh, &["dml-ort"], profile)?;
    let folder = workspace::root().join("target/wheel");
    sh.remove_path(&folder)?;
    sh.create_dir(&folder)?;
    let library = folder.join(LIBRARY);
    sh.copy_file(built.join(LIBRARY), &library)?;
    cmd!(sh, "strip --strip-debug {library}").run()?;
    let tag = tag(sh, &library)?;
    let sources = workspace::root().join(SOURCES);
    let version = env!("CARGO_PKG_VERSION");
    let name = cmd!(sh, "python3 -c {SCRIPT} {folder} {sources} {library} {version} {tag}")
        .quiet()
        .read()
        .context("packing the wheel")?;
    Ok(folder.join(name))
}

/// Where the library runs, as Python names it: what it needs of the C library says so.
fn tag(sh: &Shell, library: &PathBuf) -> Result<String> {
    let arch = std::env::consts::ARCH;
    ensure!(cfg!(target_os = "linux"), "wheels are built on Linux only");
    let symbols = cmd!(sh, "objdump -T {library}").quiet().read()?;
    let (major, minor) = dist::newest_glibc(&symbols).context("no symbol of glibc is used")?;
    Ok(format!("py3-none-manylinux_{major}_{minor}_{arch}"))
}
