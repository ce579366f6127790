//! `cargo xtask test`: every test, on both CPU drivers, under the validation layer.

mod programs;

use std::process::Command;

use anyhow::{Result, ensure};
use xshell::{Shell, cmd};

use crate::devices;
use crate::environment::Environment;
use crate::process;
use crate::setup;
use crate::workspace;
use programs::{Program, Start};

/// Run all tests on both CPU drivers with the validation layer
#[derive(clap::Args)]
pub(crate) struct Args {
    /// For `cargo test`, which then runs one test program after the other
    #[arg(last = true)]
    pub(crate) args: Vec<String>,
}

/// Every feature but shaderc, so that neither cmake nor C++ is needed.
const EVERYTHING: [&str; 4] = ["--locked", "--workspace", "--features", "dml-core/json"];

/// Runs the command and returns its exit code.
pub(crate) fn run(sh: &Shell, args: &Args) -> Result<i32> {
    let environment = under_validation(setup::make_sure(sh)?.environment()?);
    let args = &args.args;
    if args.is_empty() {
        return all(sh, &environment, &Whole { profile: &[], stops_at_failure: true });
    }
    process::exit_code(environment.apply(cmd!(sh, "cargo test {EVERYTHING...} {args...}")))
}

/// A run of all tests.
struct Whole<'a> {
    /// Cargo's option for another profile than `dev`.
    profile: &'a [&'a str],
    stops_at_failure: bool,
}

/// Runs all tests to the end; an error if one fails.
pub(crate) fn to_the_end(sh: &Shell, profile: &[&str]) -> Result<()> {
    let environment = under_validation(setup::make_sure(sh)?.environment()?);
    let code = all(sh, &environment, &Whole { profile, stops_at_failure: false })?;
    process::no_failure("the tests", code)
}

/// Test programs at the same time, then the examples of the documentation.
fn all(sh: &Shell, environment: &Environment, whole: &Whole<'_>) -> Result<i32> {
    let profile = whole.profile;
    let build = cmd!(sh, "cargo test {EVERYTHING...} {profile...} --no-run");
    let messages = build.arg("--message-format=json-render-diagnostics").read()?;
    let programs = Program::all(&messages)?;
    ensure!(!programs.is_empty(), "cargo built no test program");
    let count = programs.len();
    let start = |program: Program| {
        let Program { executable, folder, .. } = &program;
        // Cargo sets the variable as well; the one of this process is xtask's.
        let command = environment.apply(cmd!(sh, "{executable}")).env("CARGO_MANIFEST_DIR", folder);
        let mut command = Command::from(command);
        command.current_dir(folder);
        Start { program, command }
    };
    let programs = programs.into_iter().map(start).collect();
    let outputs = workspace::target_dir().join("test-output");
    let failures = programs::run(programs, &outputs, whole.stops_at_failure)?;
    failures.iter().for_each(|failure| eprintln!("\n{}", failure.output));
    let mut failed: Vec<String> = failures.into_iter().map(|it| it.selection).collect();
    if failed.is_empty() || !whole.stops_at_failure {
        let examples = cmd!(sh, "cargo test {EVERYTHING...} {profile...} --no-fail-fast --doc");
        if process::exit_code(environment.apply(examples))? != 0 {
            failed.push("--doc".into());
        }
    }
    if failed.is_empty() {
        eprintln!("{count} test programs and the examples of the documentation passed");
        return Ok(0);
    }
    eprintln!("error: failed; run one alone by `cargo xtask test -- SELECTION`:");
    failed.iter().for_each(|selection| eprintln!("    {selection}"));
    Ok(1)
}

/// The tests fail if the layer is not really on: an unset variable must not look like a clean run.
pub(crate) fn under_validation(environment: Environment) -> Environment {
    with_hazards(environment)
        .with("VK_INSTANCE_LAYERS", "VK_LAYER_KHRONOS_validation")
        .with("DML_TEST_VALIDATION", "required")
        // The two poles: every optional feature, and none. A test fails where one does not answer.
        .with("DML_TEST_DEVICES", devices::CPU_DRIVERS.join(","))
        // Tests neither read nor write what the user's programs have compiled.
        .with("DML_PIPELINE_CACHE", "off")
}

/// With these settings the layer reports hazards between dispatches and across submits too.
pub(crate) fn with_hazards(environment: Environment) -> Environment {
    environment
        .with("VK_LAYER_VALIDATE_SYNC", "1")
        .with("VK_LAYER_SYNCVAL_SHADER_ACCESSES_HEURISTIC", "1")
        .with("VK_LAYER_SYNCVAL_FULL_VALIDATION", "1")
}
