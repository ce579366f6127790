//! `cargo xtask generate-header`: the functions of `crates/dml-capi` to its checked-in C header.

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::process;

/// Runs the command and returns its exit code. A test holds the header against the sources.
pub(crate) fn run(sh: &Shell) -> Result<i32> {
    process::exit_code(cmd!(sh, "cargo run --locked --package dml-c-header"))
}
