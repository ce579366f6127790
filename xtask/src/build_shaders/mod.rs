//! `build-shaders`: GLSL kernels to checked-in SPIR-V, its manifest, and the typed kernel table.
//!
//! `--check` proves by hashes that what is checked in belongs together and needs no compiler. All
//! else needs the feature `shaderc`.

#[cfg(feature = "shaderc")]
mod access;
#[cfg(feature = "shaderc")]
mod compile;
#[cfg(feature = "shaderc")]
mod generate;
#[cfg(feature = "shaderc")]
mod layout;
#[cfg(feature = "shaderc")]
mod reflect;
#[cfg(feature = "shaderc")]
#[cfg(test)]
mod tests;
#[cfg(feature = "shaderc")]
mod validate;

use anyhow::{Context, Result, bail};
use dml_spirv_manifest::{BUILD_COMMAND, Tree};

use crate::workspace;

/// Compiles the kernels, and writes the manifest and the kernel table.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct Args {
    /// Write nothing; fail where the checked-in files are not what the sources say.
    #[arg(long)]
    pub(crate) check: bool,
    /// With --check: also compile everything and compare bytes.
    #[arg(long, requires = "check")]
    pub(crate) recompile: bool,
}

impl Args {
    /// Whether this needs xtask built with the feature `shaderc`.
    pub(crate) fn needs_compiler(self) -> bool {
        !self.check || self.recompile
    }
}

/// Runs the command.
pub(crate) fn run(args: Args) -> Result<()> {
    // Another checkout of this user builds into the same folder, and may have replaced this program.
    let started = std::env::var_os("CARGO_MANIFEST_DIR").map(std::path::PathBuf::from);
    if let Some(started) = started.filter(|it| it.parent() != Some(workspace::root())) {
        bail!("another checkout built meanwhile in place of {}; run it again", started.display());
    }
    let tree = Tree::of_workspace(workspace::root());
    if args.check {
        check(&tree)?;
    }
    if args.needs_compiler() { run_compiler(&tree, args) } else { Ok(()) }
}

fn check(tree: &Tree) -> Result<()> {
    let findings = dml_spirv_manifest::check(tree).with_context(|| {
        format!("nothing can be compared (`{BUILD_COMMAND}` writes what is generated)")
    })?;
    if findings.is_empty() {
        eprintln!("build-shaders: the checked-in kernels are what the sources say, by hashes");
        return Ok(());
    }
    let list: String = findings.iter().map(|finding| format!("  {finding}\n")).collect();
    bail!("the checked-in kernels are not what the sources say:\n{list}Run `{BUILD_COMMAND}`.")
}

#[cfg(not(feature = "shaderc"))]
fn run_compiler(_: &Tree, _: Args) -> Result<()> {
    bail!("this xtask was built without its feature `shaderc`, so it cannot compile kernels")
}

#[cfg(feature = "shaderc")]
fn run_compiler(tree: &Tree, args: Args) -> Result<()> {
    let generated = generate::generate(tree)?;
    let show = |paths: Vec<std::path::PathBuf>| -> String {
        let line = |path| format!("  {}\n", generate::shown(path, workspace::root()));
        paths.iter().map(|path| line(path)).collect()
    };
    if !args.check {
        let touched = generate::write(tree, &generated)?;
        let count = touched.len();
        eprint!("build-shaders: {} files, {count} changed\n{}", generated.len(), show(touched));
        return Ok(());
    }
    let differing = generate::differences(tree, &generated)?;
    if differing.is_empty() {
        eprintln!("build-shaders: compiling again gives the same {} files", generated.len());
        return Ok(());
    }
    bail!("compiling again gives something else for:\n{}Run `{BUILD_COMMAND}`.", show(differing))
}
