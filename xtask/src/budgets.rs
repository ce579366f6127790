//! `cargo xtask budgets`: what plans ask of a GPU, counted without one.

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::{models, process};

/// Write the tables of what plans ask of a GPU, which the tests of dml-budgets compare; needs no Vulkan device
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Args {
    /// The table of the models that `cargo xtask models` runs, which are fetched, in place of that of single operators
    #[arg(long)]
    pub(crate) models: bool,
    /// Write nothing; fail where a table says something else
    #[arg(long)]
    pub(crate) check: bool,
}

/// Runs the command and returns the program's exit code.
pub(crate) fn run(sh: &Shell, args: Args) -> Result<i32> {
    let mut arguments = Vec::new();
    if args.models {
        let folder = models::lay_out_all(sh)?;
        arguments.extend(["--models".into(), folder.into_os_string()]);
    }
    arguments.extend(args.check.then(|| "--check".into()));
    process::exit_code(cmd!(sh, "cargo run --locked --package dml-budgets -- {arguments...}"))
}
