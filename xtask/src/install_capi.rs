//! `cargo xtask install-capi`: the C library, its headers and its pkg-config file below a prefix.

use std::path::PathBuf;

use anyhow::Result;
use xshell::Shell;

use crate::programs::{self, Profile};
use crate::workspace;

/// The version of the workspace, which is that of the library.
const VERSION: &str = env!("CARGO_PKG_VERSION");
const MAJOR: &str = env!("CARGO_PKG_VERSION_MAJOR");

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
    let profile = if args.debug { Profile::Dev } else { Profile::Release };
    let built = programs::build_packages(sh, &["dml-capi"], profile)?;
    let source = workspace::root().join("crates/dml-capi");
    let prefix = workspace::root().join(&args.prefix);
    let lib = prefix.join("lib");
    for header in ["include/dmlvk/dmlvk.h", "include/dmlvk/directml_types.h"] {
        sh.create_dir(prefix.join("include/dmlvk"))?;
        sh.copy_file(source.join(header), prefix.join(header))?;
    }
    let template = sh.read_file(source.join("dmlvk.pc.in"))?;
    sh.write_file(lib.join("pkgconfig/dmlvk.pc"), template.replace("@VERSION@", VERSION))?;
    let others = ["libdmlvk.a", "libdmlvk.dylib", "dmlvk.dll", "dmlvk.dll.lib"];
    for name in others.into_iter().filter(|name| built.join(name).is_file()) {
        sh.copy_file(built.join(name), lib.join(name))?;
    }
    #[cfg(target_os = "linux")]
    install_with_links(sh, &built.join("libdmlvk.so"), &lib)?;
    eprintln!("install-capi: dmlvk {VERSION} is below {}", prefix.display());
    Ok(())
}

/// The shared library with the names that the linker and the loader look for.
#[cfg(target_os = "linux")]
fn install_with_links(sh: &Shell, built: &std::path::Path, lib: &std::path::Path) -> Result<()> {
    let real = format!("libdmlvk.so.{VERSION}");
    let links = ["libdmlvk.so".to_owned(), format!("libdmlvk.so.{MAJOR}")];
    // A program may be running with the old one.
    for name in links.iter().chain([&real]) {
        sh.remove_path(lib.join(name))?;
    }
    sh.copy_file(built, lib.join(&real))?;
    for name in links {
        std::os::unix::fs::symlink(&real, lib.join(name))?;
    }
    Ok(())
}
