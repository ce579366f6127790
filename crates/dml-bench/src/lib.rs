//! Parts that the programs of this crate share, and the budgets of plans.
#![forbid(unsafe_code)]

pub mod budgets;

use std::process::ExitCode;

use dml_file::eprintln;

/// The exit code for `result`. An error is printed first.
pub fn exit_code(result: anyhow::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
