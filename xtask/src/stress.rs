//! `cargo xtask stress`: `dml-stress` on the CPU drivers.

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::environment::Environment;
use crate::{conformance, devices, process, programs, setup, test};

/// Put the runtime through faults, random plans, cycles and mixed load
#[derive(clap::Args)]
pub(crate) struct Args {
    /// For `dml-stress`, of which `--help` lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<String>,
}

/// Runs the command and returns its exit code.
pub(crate) fn run(sh: &Shell, args: &Args) -> Result<i32> {
    let arguments: Vec<&str> = args.args.iter().map(String::as_str).collect();
    let environment = environment_for(&arguments, conformance::environment(sh, true)?);
    // Millions of plans want an optimized build; the others wait for devices.
    let profile = if arguments.first() == Some(&"plans") { "stress" } else { "dev" };
    let command =
        cmd!(sh, "cargo run --locked --profile {profile} --package dml-stress -- {arguments...}");
    process::exit_code(environment.apply(command))
}

/// A step of `nightly`: one command, which must hold.
pub(crate) fn one(sh: &Shell, arguments: &[&str]) -> Result<()> {
    let args = arguments.iter().map(|&argument| argument.to_owned()).collect();
    let shown = format!("`dml-stress {}`", arguments.join(" "));
    process::no_failure(&shown, run(sh, &Args { args })?)
}

/// The step `stress` of `ci`: what says enough in a short time, on both CPU drivers.
const SHORT: [&[&str]; 4] = [
    &["faults", "--quick", "--scenario", "owning"],
    &["plans", "--count", "3000"],
    &["cycles", "--buffers", "2000", "--devices", "20"],
    &["soak", "--time", "5s", "--threads", "4", "--validation"],
];

/// Runs the step.
pub(crate) fn short(sh: &Shell) -> Result<()> {
    let program = programs::build(sh, "dml-stress", "dml-stress")?;
    let drivers = setup::make_sure(sh)?.environment()?;
    devices::of_cpu_drivers(sh, &drivers)?;
    let drivers = test::with_hazards(drivers).with("DML_PIPELINE_CACHE", "off");
    for arguments in SHORT {
        let environment = environment_for(arguments, drivers.clone());
        let command = environment.apply(cmd!(sh, "{program} {arguments...}"));
        process::succeed(command)?;
    }
    Ok(())
}

/// Calls fail under the validation layer; `faults` turns it off by itself where it must be off.
fn environment_for(arguments: &[&str], environment: Environment) -> Environment {
    match arguments.first() {
        Some(&"faults") => test::under_validation(environment),
        _ => environment,
    }
}
