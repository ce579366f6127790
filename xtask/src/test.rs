//! `cargo xtask test`: every test, on both CPU drivers, under the validation layer.

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::devices;
use crate::environment::Environment;
use crate::process;
use crate::setup;

/// Run all tests on both CPU drivers with the validation layer
#[derive(clap::Args)]
pub(crate) struct Args {
    /// For `cargo test`
    #[arg(last = true)]
    pub(crate) args: Vec<String>,
}

/// Runs the command and returns the exit code of `cargo test`.
pub(crate) fn run(sh: &Shell, args: &Args) -> Result<i32> {
    let drivers = setup::make_sure(sh)?.environment()?;
    // Every feature but shaderc, so that neither cmake nor C++ is needed.
    let args = &args.args;
    let command = cmd!(sh, "cargo test --locked --workspace --features dml-core/json {args...}");
    process::exit_code(under_validation(drivers).apply(command))
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
