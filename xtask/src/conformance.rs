//! `cargo xtask conformance`: the conformance runner on every device, from a fresh clone.

use anyhow::{Result, ensure};
use xshell::{Shell, cmd};

use crate::devices;
use crate::environment::Environment;
use crate::process;
use crate::programs;
use crate::setup;
use crate::test;

/// Run the conformance suite; sets up CPU drivers where no Vulkan device answers
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run on the CPU drivers too, even if there are other devices
    #[arg(long)]
    pub(crate) cpu_drivers: bool,
    /// The full sweep: under every profile and without robust access too, on the host interpreter as
    /// well, with more random cases, and under the validation layer where it is there
    #[arg(long)]
    pub(crate) full: bool,
    /// For `dml-conformance run`; without --feature-level and --device, all of both
    #[arg(last = true)]
    pub(crate) args: Vec<String>,
}

/// Runs the command and returns the runner's exit code.
pub(crate) fn run(sh: &Shell, args: &Args) -> Result<i32> {
    let environment = environment(sh, args.cpu_drivers)?;
    if args.full {
        return run_full(sh, &environment, &args.args);
    }
    run_with(sh, &environment, &with_defaults(&args.args))
}

/// The parts of the full sweep. The operators that a level accepts do not depend on the profile: under
/// profiles the highest level, which accepts all of them, is enough.
const FULL: [&[&str]; 6] = [
    &["--feature-level", "all", "--device", "all", "--random", "64"],
    &["--feature-level", "all", "--device", "all", "--robust-access", "off"],
    &["--feature-level", "6_4", "--device", "all", "--strategy", "all", "--random", "16"],
    &["--feature-level", "6_4", "--device", "all", "--variants", "all", "--staged-transfers", "on"],
    &["--feature-level", "6_4", "--device", "all", "--profile", "all", "--random", "16"],
    &["--feature-level", "6_4", "--device", "interpreter", "--profile", "all", "--random", "64"],
];

/// The exit code of `dml-conformance run` if nothing failed, but not everything could run.
const INCOMPLETE: i32 = 4;

/// Runs every part, whatever the results of the others, and returns the worst exit code.
fn run_full(sh: &Shell, environment: &Environment, args: &[String]) -> Result<i32> {
    let is_report = |arg: &&String| arg.starts_with("--output") || arg.starts_with("--format");
    let report = args.iter().find(is_report).map_or("", String::as_str);
    ensure!(report.is_empty(), "--full has several reports: leave out {report}, or run its parts");
    let has_layer = devices::have_validation_layer(sh, environment)?;
    if !has_layer {
        eprintln!("the validation layer is not there: the sweep runs without it");
    }
    let mut codes = Vec::new();
    for part in FULL {
        let mut arguments: Vec<String> = part.iter().map(|arg| (*arg).to_owned()).collect();
        if has_layer && !part.contains(&"interpreter") {
            arguments.push("--validation".to_owned());
        }
        arguments.extend_from_slice(args);
        eprintln!("\ndml-conformance run {}", arguments.join(" "));
        codes.push(run_with(sh, environment, &arguments)?);
    }
    Ok(worst(&codes))
}

/// The worst exit code: a failure is worse than an incomplete run.
fn worst(codes: &[i32]) -> i32 {
    let rank = |code: &&i32| (**code != 0, **code != INCOMPLETE, **code);
    codes.iter().max_by_key(rank).copied().unwrap_or(0)
}

fn run_with(sh: &Shell, environment: &Environment, arguments: &[String]) -> Result<i32> {
    let program = programs::build(sh, "dml-conformance", "dml-conformance")?;
    let is_validated = arguments.iter().any(|argument| argument == "--validation");
    let hazards = is_validated.then(|| test::with_hazards(environment.clone()));
    let environment = hazards.as_ref().unwrap_or(environment);
    process::exit_code(environment.apply(cmd!(sh, "{program} run {arguments...}")))
}

/// The system as it is if it has a device, unless the CPU drivers are requested. With these, real devices
/// stay visible.
pub(crate) fn environment(sh: &Shell, cpu_drivers: bool) -> Result<Environment> {
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

/// The options of a run over everything, unless the caller chose. SwiftShader takes four times as long as other CPU
/// drivers, so it runs a sample of the cases, except with `--full`.
const DEFAULTS: [(&str, &str); 3] =
    [("--feature-level", "all"), ("--device", "all"), ("--sample", "SwiftShader=1/4")];

/// Adds those of [`DEFAULTS`] that the caller did not choose: a caller who names a device wants all of its cases.
fn with_defaults(args: &[String]) -> Vec<String> {
    let is_given = |option: &str| {
        let is_option = |arg: &String| {
            arg.strip_prefix(option).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
        };
        args.iter().any(is_option)
    };
    let is_missing = |(option, _): &&(&str, &str)| {
        !is_given(option) && (*option != "--sample" || !is_given("--device"))
    };
    let missing = DEFAULTS.iter().filter(is_missing);
    let mut all: Vec<String> =
        missing.flat_map(|(option, value)| [option, value]).map(|it| (*it).to_owned()).collect();
    all.extend_from_slice(args);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_worse_than_an_incomplete_run() {
        assert_eq!(worst(&[0, 0]), 0);
        assert_eq!(worst(&[0, INCOMPLETE, 0]), INCOMPLETE);
        assert_eq!(worst(&[0, 1, INCOMPLETE]), 1);
        assert_eq!(worst(&[INCOMPLETE, 2, 1, 0]), 2);
    }

    #[test]
    fn the_callers_choice_replaces_a_default() {
        let strings = |all: &[&str]| all.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        let everything =
            ["--feature-level", "all", "--device", "all", "--sample", "SwiftShader=1/4"];
        assert_eq!(with_defaults(&[]), everything);
        assert_eq!(
            with_defaults(&strings(&["--device=0", "--jobs", "3"])),
            ["--feature-level", "all", "--device=0", "--jobs", "3"]
        );
        assert_eq!(
            with_defaults(&strings(&["--feature-level", "5_1", "--device", "0"])),
            ["--feature-level", "5_1", "--device", "0"]
        );
    }
}
