//! `cargo xtask ci`: everything that must hold before a change is merged. `cargo xtask nightly`: these steps,
//! and others that take hours.
//!
//! No step is skipped because a tool, a device or a layer is missing: a step that lacks something fails.

mod steps;

use std::process::Command;

use anyhow::Result;
use xshell::Shell;

use crate::setup;
use crate::step_runner::{self, Args, Check, Mode};
use steps::{CI, NIGHTLY};

const RECORD: &str = "xtask/passed.toml";

/// Run one step in this process
#[derive(clap::Args)]
pub(crate) struct StepArgs {
    name: String,
}

/// Runs the steps and returns the exit code.
pub(crate) fn run(sh: &Shell, args: &Args) -> Result<i32> {
    let mode = Mode { always: false, ends: setup::in_ci(), record: RECORD };
    step_runner::run(sh, CI, args, &mode, this_program)
}

/// Runs the steps of `ci` and those that take hours, with all inputs.
pub(crate) fn nightly(sh: &Shell, args: &Args) -> Result<i32> {
    let mode = Mode { always: true, ends: setup::in_ci(), record: RECORD };
    step_runner::run(sh, CI.iter().chain(NIGHTLY), args, &mode, this_program)
}

/// Runs one step in this process.
pub(crate) fn step(sh: &Shell, args: &StepArgs) -> Result<i32> {
    let step = step_runner::find(CI.iter().chain(NIGHTLY), &args.name)?;
    (step.run)(sh).map(|()| 0)
}

/// The command that runs one step with this program. Linux finds the program even if an earlier step has
/// built another one in its place.
fn this_program(step: &Check) -> Command {
    let program = if cfg!(target_os = "linux") {
        "/proc/self/exe".into()
    } else {
        std::env::current_exe().unwrap_or_else(|_| "xtask".into())
    };
    let mut command = Command::new(program);
    command.args(["step", step.name]);
    // Incremental builds do not pay off for a single build.
    command.env("CARGO_INCREMENTAL", "0");
    command
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step_runner::Record;
    use crate::workspace;

    #[test]
    fn names_are_unique_and_every_step_can_be_started() {
        let names: Vec<&str> = CI.iter().chain(NIGHTLY).map(|it| it.name).collect();
        for (index, name) in names.iter().enumerate() {
            assert!(!names[..index].contains(name), "{name}");
        }
        let error = step(&Shell::new().unwrap(), &StepArgs { name: "nothing".into() });
        assert_eq!(error.unwrap_err().to_string(), "there is no step nothing");
    }

    /// A path that matches nothing would let its step be left out for ever.
    #[test]
    fn every_input_is_there() {
        let sh = Shell::new().unwrap();
        sh.change_dir(workspace::root());
        for input in CI.iter().flat_map(|it| it.inputs) {
            assert!(!step_runner::listed(&sh, input).unwrap().is_empty(), "{input}");
        }
        let known = |name: &str| CI.iter().any(|it| it.name == name && !it.inputs.is_empty());
        assert!(Record::read(&sh, RECORD).unwrap().steps().all(known));
    }
}
