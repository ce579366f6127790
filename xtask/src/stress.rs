//! `cargo xtask stress`: `dml-stress` on the CPU drivers.

use anyhow::{Result, ensure};
use xshell::{Shell, cmd};

use crate::{conformance, process, setup, test};

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
    // Millions of plans want an optimized build; the others wait for devices.
    let is_host_only = args.args.first().is_some_and(|command| command == "plans");
    let profile = if is_host_only { "stress" } else { "dev" };
    let command =
        cmd!(sh, "cargo run --locked --profile {profile} --package dml-stress -- {arguments...}");
    process::exit_code(environment.apply(command))
}

/// The step `stress` of `ci`: what says enough in a short time, on both CPU drivers.
const SHORT: [&[&str]; 2] = [
    &["cycles", "--buffers", "2000", "--devices", "20"],
    &["soak", "--time", "5s", "--threads", "4", "--validation"],
];

/// Runs the step.
pub(crate) fn short(sh: &Shell) -> Result<()> {
    let drivers = setup::make_sure(sh)?.environment()?;
    let environment = test::with_hazards(drivers).with("DML_PIPELINE_CACHE", "off");
    for arguments in SHORT {
        let command = cmd!(sh, "cargo run --locked --package dml-stress -- {arguments...}");
        let code = process::exit_code(environment.apply(command))?;
        ensure!(code == 0, "`dml-stress {}` ended with exit code {code}", arguments.join(" "));
    }
    Ok(())
}
