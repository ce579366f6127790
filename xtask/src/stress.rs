//! `cargo xtask stress`: `dml-stress` on the CPU drivers.

use anyhow::{Result, ensure};
use xshell::{Shell, cmd};

use crate::environment::Environment;
use crate::{conformance, fuzz, process, setup, test};

/// Put the runtime through faults, random plans, cycles and mixed load
#[derive(clap::Args)]
pub(crate) struct Args {
    /// For `dml-stress`, of which `--help` lists them; or `full`: all that docs/reliability.md promises,
    /// fuzzing included, in about three hours
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<String>,
}

/// What `full` runs before it fuzzes.
const FULL: [&[&str]; 5] = [
    &["faults"],
    &["plans", "--count", "13000000", "--seed", "1"],
    &["cycles"],
    &["soak", "--time", "10m", "--seed", "1"],
    &["soak", "--time", "2m", "--seed", "2", "--validation"],
];

/// Runs the command and returns its exit code.
pub(crate) fn run(sh: &Shell, args: &Args) -> Result<i32> {
    let environment = conformance::environment(sh, true)?;
    if args.args != ["full"] {
        let arguments: Vec<&str> = args.args.iter().map(String::as_str).collect();
        return stress(sh, &environment, profile(&arguments), &arguments);
    }
    let mut failed = Vec::new();
    for arguments in FULL {
        println!("\n=== stress {} ===", arguments.join(" "));
        if stress(sh, &environment, profile(arguments), arguments)? != 0 {
            failed.push(arguments.join(" "));
        }
    }
    println!("\n=== fuzz ===");
    if fuzz::run(sh, &fuzz::Args { time: 600, targets: vec![], jobs: 2, input: None })? != 0 {
        failed.push("fuzz".to_owned());
    }
    println!("\n{} of {} failed {failed:?}", failed.len(), FULL.len() + 1);
    Ok(i32::from(!failed.is_empty()))
}

/// Millions of plans want an optimized build; the others wait for devices.
fn profile(arguments: &[&str]) -> &'static str {
    if arguments.first() == Some(&"plans") { "stress" } else { "dev" }
}

fn stress(sh: &Shell, environment: &Environment, profile: &str, arguments: &[&str]) -> Result<i32> {
    let command =
        cmd!(sh, "cargo run --locked --profile {profile} --package dml-stress -- {arguments...}");
    process::exit_code(environment.apply(command))
}

/// The step `stress` of `ci`: what says enough in a short time, on both CPU drivers.
const SHORT: [&[&str]; 4] = [
    &["faults", "--quick", "--scenario", "owning"],
    &["plans", "--count", "20000"],
    &["cycles", "--buffers", "2000", "--devices", "20"],
    &["soak", "--time", "5s", "--threads", "4", "--validation"],
];

/// Runs the step.
pub(crate) fn short(sh: &Shell) -> Result<()> {
    let drivers = setup::make_sure(sh)?.environment()?;
    let environment = test::with_hazards(drivers).with("DML_PIPELINE_CACHE", "off");
    for arguments in SHORT {
        let code = stress(sh, &environment, "dev", arguments)?;
        ensure!(code == 0, "`dml-stress {}` ended with exit code {code}", arguments.join(" "));
    }
    Ok(())
}
