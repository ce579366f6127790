//! `cargo xtask stress`: `dml-stress` on the CPU drivers.

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::{conformance, process};

/// Put the runtime through faults, random plans, cycles and mixed load
#[derive(clap::Args)]
pub(crate) struct Args {
    /// For `dml-stress`, of which `--help` lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<String>,
}

/// Runs the command and returns its exit code.
pub(crate) fn run(sh: &Shell, args: &Args) -> Result<i32> {
    let environment = conformance::environment(sh, true)?;
    let arguments = &args.args;
    let command = cmd!(sh, "cargo run --locked --package dml-stress -- {arguments...}");
    process::exit_code(environment.apply(command))
}
