//! `cargo xtask dist`: an archive for a machine that has a Vulkan loader and driver, and no Rust.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use dml_file::println;
use xshell::{Shell, cmd};

use crate::programs::Profile;
use crate::{devices, install_capi, process, programs, setup, workspace};

/// Build an archive of the programs, the C library and a script that runs them all
#[derive(clap::Args)]
pub(crate) struct Args {}

/// The packages and names of the programs in the archive's `bin`.
const PROGRAMS: [(&str, &str); 3] =
    [("dml-cli", "dml"), ("dml-conformance", "dml-conformance"), ("dml-bench", "dml-bench")];

const SCRIPT: &str = include_str!("dist/run-suite.sh");

/// The largest size of the archive, which people copy to other machines.
const MOST_BYTES: u64 = 40 << 20;

/// Runs the command.
pub(crate) fn run(sh: &Shell) -> Result<()> {
    let archive = build(sh, Profile::Release)?;
    let size = archive.metadata()?.len();
    ensure!(size < MOST_BYTES, "{} has {size} bytes, at most are {MOST_BYTES}", archive.display());
    let shown = archive.strip_prefix(workspace::root()).unwrap_or(&archive).display();
    println!("{shown} ({:.1} MiB)", size as f64 / f64::from(1 << 20));
    Ok(())
}

/// A step of `nightly`: checks the archive that users get.
pub(crate) fn check(sh: &Shell) -> Result<()> {
    run(sh)?;
    try_out(sh, &[])
}

/// The step `dist` of `ci`: checks that the archive is complete. Its programs are those of the tests, so that
/// nothing is built again.
pub(crate) fn check_quickly(sh: &Shell) -> Result<()> {
    build(sh, Profile::Dev)?;
    try_out(sh, &["--filter", "*/diagonal_matrix/*", "--device", "0"])
}

/// Runs the archive's programs on the CPU drivers, or one of them, from another folder.
fn try_out(sh: &Shell, arguments: &[&str]) -> Result<()> {
    let folder = folder().join("check");
    sh.remove_path(&folder)?;
    sh.create_dir(&folder)?;
    let archive = archive();
    cmd!(sh, "tar -C {folder} -xzf {archive}").run()?;
    let script = folder.join(name()).join("run-suite.sh");
    let reports = folder.join("reports");
    let drivers = setup::make_sure(sh)?.environment()?;
    devices::of_cpu_drivers(sh, &drivers)?;
    let command = cmd!(sh, "{script} --quick --output {reports} {arguments...}");
    process::succeed(drivers.apply(command))?;
    for report in ["machine.txt", "devices.txt", "conformance.html", "benchmark.md"] {
        ensure!(reports.join(report).is_file(), "{report} is missing in {}", reports.display());
    }
    Ok(())
}

/// The archive's name, such as `dmlvk-0.2.0-x86_64-linux`.
fn name() -> String {
    let (arch, system) = (std::env::consts::ARCH, std::env::consts::OS);
    format!("dmlvk-{}-{arch}-{system}", env!("CARGO_PKG_VERSION"))
}

fn archive() -> PathBuf {
    folder().join(format!("{}.tar.gz", name()))
}

fn folder() -> PathBuf {
    workspace::root().join("target/dist")
}

fn build(sh: &Shell, profile: Profile) -> Result<PathBuf> {
    let folder = folder().join(name());
    sh.remove_path(&folder)?;
    sh.create_dir(folder.join("bin"))?;
    let packages = PROGRAMS.map(|(package, _)| package);
    let programs = programs::build_packages(sh, &packages, profile)?;
    for (_, program) in PROGRAMS {
        let built = programs.join(program);
        let place = folder.join("bin").join(program);
        sh.copy_file(&built, &place)?;
        // No debug information is built, but the standard library has some.
        cmd!(sh, "strip --strip-debug {place}").run()?;
    }
    install_capi::run(
        sh,
        &install_capi::Args { prefix: folder.clone(), debug: profile == Profile::Dev },
    )?;
    sh.write_file(folder.join("run-suite.sh"), SCRIPT)?;
    let script = folder.join("run-suite.sh");
    cmd!(sh, "chmod +x {script}").run()?;
    for license in ["LICENSE-APACHE", "LICENSE-MIT", "README.md"] {
        sh.copy_file(workspace::root().join(license), folder.join(license))?;
    }
    sh.write_file(folder.join("CONTENTS"), contents(sh, &folder)?)?;
    let (archive, parent, name) = (archive(), self::folder(), name());
    cmd!(sh, "tar -C {parent} --owner=0 --group=0 -czf {archive} {name}").run()?;
    Ok(archive)
}

/// The text about the archive: commit, compiler and requirements.
fn contents(sh: &Shell, folder: &Path) -> Result<String> {
    let commit = cmd!(sh, "git describe --always --dirty").quiet().read()?;
    let compiler = cmd!(sh, "rustc --version").quiet().read()?;
    let programs = PROGRAMS.map(|(_, program)| folder.join("bin").join(program));
    let files = [&programs[..], &[folder.join("lib/libdmlvk.so")]].concat();
    let symbols = cmd!(sh, "objdump -T {files...}").quiet().read()?;
    let (major, minor) = newest_glibc(&symbols).context("no symbol of glibc is used")?;
    Ok(format!(
        "{}\ncommit {commit}\n{compiler}\nneeds glibc {major}.{minor} or newer, libvulkan.so.1, and a driver of Vulkan 1.1\n",
        name()
    ))
}

/// The highest `GLIBC_MAJOR.MINOR` of a symbol table.
pub(crate) fn newest_glibc(symbols: &str) -> Option<(u32, u32)> {
    let versions = symbols.split("GLIBC_").skip(1).filter_map(|rest| {
        let version = rest.split(|it: char| !it.is_ascii_digit() && it != '.').next()?;
        let mut parts = version.split('.');
        Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
    });
    versions.max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_symbols_are_compared_as_numbers() {
        let symbols = "0000 DF *UND* 0 (GLIBC_2.4)  a\n0000 (GLIBC_2.34) b\n(GLIBC_2.2.5) c\n";
        assert_eq!(newest_glibc(symbols), Some((2, 34)));
        assert_eq!(newest_glibc("nothing"), None);
    }
}
