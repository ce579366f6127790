//! `cargo xtask test`: every test, on both CPU drivers, under the validation layer.

use anyhow::{Result, bail};
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
    check_devices(&devices::names(sh, &drivers)?)?;
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

/// The two drivers are the two poles: every optional feature, and none.
fn check_devices(names: &[String]) -> Result<()> {
    for driver in devices::CPU_DRIVERS {
        if !names.iter().any(|name| name.contains(driver)) {
            bail!(
                "the tests need a device called {driver}; those that answer: [{}]\n\
                 `cargo xtask setup` says what is there and what is missing",
                names.join(", ")
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_driver_alone_is_not_enough() {
        let both = ["SwiftShader Device (Subzero)".to_owned(), "llvmpipe (LLVM)".to_owned()];
        assert!(check_devices(&both).is_ok());
        let error = check_devices(&both[..1]).unwrap_err().to_string();
        assert!(error.contains("called llvmpipe") && error.contains("Subzero"), "{error}");
        assert!(check_devices(&[]).is_err());
    }
}
