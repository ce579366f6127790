//! GLSL kernels to checked-in SPIR-V, its manifest, and the typed kernel table.
#![forbid(unsafe_code)]
#![allow(clippy::print_stderr, reason = "a command line program prints")]

mod access;
mod compile;
mod digest;
mod generate;
mod instruction;
mod intent;
mod layout;
mod reflect;
mod table;
#[cfg(test)]
mod tests;
mod validate;

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Parser;
use dml_spirv_compiler::manifest::{BUILD_COMMAND, Tree};

/// The entry point of every kernel.
const ENTRY_POINT: &str = "main";

/// Compiles the kernels of a workspace, and writes their manifest and their table
#[derive(Parser)]
struct Args {
    /// The folder of the workspace
    workspace: PathBuf,
    /// Write nothing; fail where compiling gives other bytes than those that are there
    #[arg(long)]
    check: bool,
}

fn main() -> Result<()> {
    let Args { workspace, check } = Args::parse();
    let tree = Tree::of_workspace(&workspace);
    let generated = generate::generate(&tree)?;
    let show = |paths: Vec<PathBuf>| -> String {
        let line = |path: &PathBuf| {
            format!("  {}\n", path.strip_prefix(&workspace).unwrap_or(path).display())
        };
        paths.iter().map(line).collect()
    };
    if !check {
        let changed = generate::write(&tree, &generated)?;
        let count = changed.len();
        eprint!("build-shaders: {} files, {count} changed\n{}", generated.len(), show(changed));
        return Ok(());
    }
    let differing = generate::differences(&tree, &generated)?;
    if differing.is_empty() {
        eprintln!("build-shaders: compiling again gives the same {} files", generated.len());
        return Ok(());
    }
    bail!("compiling again gives something else for:\n{}Run `{BUILD_COMMAND}`.", show(differing))
}
