//! What the programs of this crate have in common, and what the budgets of plans are made of.
#![forbid(unsafe_code)]

pub mod budgets;

use std::process::ExitCode;

use dml_file::eprintln;

/// How a program ends that has come to `result`: an error is printed first.
pub fn exit_code(result: anyhow::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
