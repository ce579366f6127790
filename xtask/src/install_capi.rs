//! `cargo xtask install-capi`: the C library, its headers and its pkg-config file below a prefix.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use xshell::{Shell, cmd};

use crate::process;
use crate::workspace;

/// The version of the workspace, which is that of the library.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Build the C library and install it, its headers and its pkg-config file
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Where `include` and `lib` are to be; an absolute path or one from the checkout's root
    #[arg(long)]
    pub(crate) prefix: PathBuf,
    /// Install a development build
    #[arg(long)]
    pub(crate) debug: bool,
}

/// Runs the command.
pub(crate) fn run(sh: &Shell, args: &Args) -> Result<()> {
    let release = (!args.debug).then_some("--release");
    process::succeed(cmd!(sh, "cargo build --locked --package dml-capi --lib {release...}"))?;
    let built = workspace::target_dir().join(if args.debug { "debug" } else { "release" });
    let source = workspace::root().join("crates/dml-capi");
    let prefix = workspace::root().join(&args.prefix);
    let (lib, include) = (prefix.join("lib"), prefix.join("include/dmlvk"));
    for folder in [&lib.join("pkgconfig"), &include] {
        sh.create_dir(folder)?;
    }
    for header in ["dmlvk.h", "directml_types.h"] {
        sh.copy_file(source.join("include/dmlvk").join(header), include.join(header))?;
    }
    install_libraries(sh, &built, &lib)?;
    let template = sh.read_file(source.join("dmlvk.pc.in"))?;
    sh.write_file(lib.join("pkgconfig/dmlvk.pc"), template.replace("@VERSION@", VERSION))?;
    eprintln!("install-capi: dmlvk {VERSION} is below {}", prefix.display());
    Ok(())
}

/// The shared library with the names that the linker and the loader look for, and the static one.
fn install_libraries(sh: &Shell, built: &Path, lib: &Path) -> Result<()> {
    sh.copy_file(built.join("libdmlvk.a"), lib.join("libdmlvk.a"))?;
    if !cfg!(target_os = "linux") {
        for name in ["libdmlvk.dylib", "dmlvk.dll", "dmlvk.dll.lib"] {
            if built.join(name).is_file() {
                sh.copy_file(built.join(name), lib.join(name))?;
            }
        }
        return Ok(());
    }
    let real = format!("libdmlvk.so.{VERSION}");
    // A program may be running with the old one.
    sh.remove_path(lib.join(&real))?;
    sh.copy_file(built.join("libdmlvk.so"), lib.join(&real))?;
    let major = VERSION.split('.').next().unwrap_or_default();
    for (name, target) in [(format!("libdmlvk.so.{major}"), &real), ("libdmlvk.so".into(), &real)] {
        sh.remove_path(lib.join(&name))?;
        link(target, &lib.join(&name)).with_context(|| format!("linking {name}"))?;
    }
    Ok(())
}

#[cfg(unix)]
fn link(target: &str, place: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(target, place)
}

#[cfg(not(unix))]
fn link(_: &str, _: &Path) -> std::io::Result<()> {
    Ok(())
}
