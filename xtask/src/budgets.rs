//! `cargo xtask budgets`: what plans ask of a GPU, counted without one; with `--time`, what they take on one.

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::{models, process};

/// Write the tables of what plans ask of a GPU, which the tests of dml-bench compare, or with --time, time
/// works on a Vulkan device
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Args {
    /// The table of the models that `cargo xtask models` runs, which are fetched, in place of that of single operators
    #[arg(long)]
    pub(crate) models: bool,
    /// Write nothing; fail where a table says something else
    #[arg(long)]
    pub(crate) check: bool,
    /// Run the works of single operators on the best Vulkan device of this machine in place of counting, and print
    /// what each, and each of its dispatches alone, takes by the device's clock
    #[arg(long, conflicts_with_all = ["models", "check"])]
    pub(crate) time: bool,
}

/// Runs the command and returns the program's exit code.
pub(crate) fn run(sh: &Shell, args: Args) -> Result<i32> {
    if args.time {
        let command =
            cmd!(sh, "cargo run --locked --release --package dml-bench --example time_works");
        return process::exit_code(command);
    }
    let mut arguments = Vec::new();
    if args.models {
        let folder = models::lay_out_all(sh)?;
        arguments.extend(["--models".into(), folder.into_os_string()]);
    }
    arguments.extend(args.check.then(|| "--check".into()));
    let options = ["--package", "dml-bench", "--bin", "dml-budgets"];
    process::exit_code(cmd!(sh, "cargo run --locked {options...} -- {arguments...}"))
}
