//! `cargo xtask conformance`: the conformance runner on every device, from a fresh clone.

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::devices;
use crate::environment::Environment;
use crate::process;
use crate::setup;

/// Run the conformance suite; sets up CPU drivers where no Vulkan device answers
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run on the CPU drivers too, even if there are other devices
    #[arg(long)]
    pub(crate) cpu_drivers: bool,
    /// For `dml-conformance run`; without --feature-level and --device, all of both
    #[arg(last = true)]
    pub(crate) args: Vec<String>,
}

/// Runs the command and returns the runner's exit code.
pub(crate) fn run(sh: &Shell, args: &Args) -> Result<i32> {
    let environment = environment(sh, args.cpu_drivers)?;
    let arguments = with_defaults(&args.args);
    let command = cmd!(sh, "cargo run --locked --package dml-conformance -- run {arguments...}");
    process::exit_code(environment.apply(command))
}

/// The system as it is where it has a device, unless the CPU drivers are asked for. Then real
/// devices stay visible beside them.
fn environment(sh: &Shell, cpu_drivers: bool) -> Result<Environment> {
    let names = devices::names(sh, &Environment::system())?;
    if !cpu_drivers && !names.is_empty() {
        eprintln!("devices: {}", names.join(", "));
        return Ok(Environment::system());
    }
    if names.is_empty() {
        eprintln!("no Vulkan device answers: lavapipe and SwiftShader are unpacked into target/");
    }
    let setup = setup::make_sure(sh)?;
    if names.iter().any(|name| !devices::is_cpu_driver(name)) {
        setup.environment_beside_system()
    } else {
        setup.environment()
    }
}

/// Everything is run, unless the caller chose.
fn with_defaults(args: &[String]) -> Vec<String> {
    let mut all = Vec::new();
    for option in ["--feature-level", "--device"] {
        let given = |arg: &String| {
            arg.strip_prefix(option).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
        };
        if !args.iter().any(given) {
            all.extend([option.to_owned(), "all".to_owned()]);
        }
    }
    all.extend_from_slice(args);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_callers_choice_replaces_a_default() {
        let strings = |all: &[&str]| all.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        assert_eq!(with_defaults(&[]), ["--feature-level", "all", "--device", "all"]);
        assert_eq!(
            with_defaults(&strings(&["--device=0", "--json", "a"])),
            ["--feature-level", "all", "--device=0", "--json", "a"]
        );
        assert_eq!(
            with_defaults(&strings(&["--feature-level", "5_1", "--device", "0"])),
            ["--feature-level", "5_1", "--device", "0"]
        );
    }
}
