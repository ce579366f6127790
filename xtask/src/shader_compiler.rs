//! Runs `build-shaders` in an xtask that has the GLSL compiler.
//!
//! shaderc is C++ and takes about ten minutes to build on two cores. So it is an optional feature,
//! and the xtask that has it lies in a target directory of its own, which every checkout of this
//! user shares: cargo builds the compiler there once for each of its versions.

use std::ffi::OsString;

use anyhow::{Context, Result};
use xshell::{Cmd, Shell, cmd};

use crate::build_tools;
use crate::environment::Environment;
use crate::process;
use crate::setup;
use crate::workspace;

/// Whether this xtask was built with the compiler.
pub(crate) fn is_here() -> bool {
    cfg!(feature = "shaderc")
}

/// Runs `build-shaders` with the compiler and returns its exit code.
pub(crate) fn build_shaders(sh: &Shell, arguments: &[OsString]) -> Result<i32> {
    let command = with_compiler(sh, "run")?.arg("--").arg("build-shaders").args(arguments);
    process::exit_code(command)
}

/// Lints and tests the half of `build-shaders` that exists only with the compiler.
pub(crate) fn lint_and_test(sh: &Shell) -> Result<()> {
    let lint = with_compiler(sh, "clippy")?.args(["--all-targets", "--", "-D", "warnings"]);
    process::succeed(lint)?;
    process::succeed(with_compiler(sh, "test")?.args(["--bins", "build_shaders"]))
}

/// `cargo COMMAND` on the xtask with the compiler. Optimized: cmake is told so in either case, and
/// a development build would only add debug information to all of the C++.
fn with_compiler<'a>(sh: &'a Shell, command: &str) -> Result<Cmd<'a>> {
    let target = workspace::tools_dir().join("shaderc");
    let command = cmd!(sh, "cargo {command} --locked --release --package xtask --features shaderc");
    Ok(environment(sh)?.apply(command.arg("--target-dir").arg(target)))
}

/// spirv-val is on PATH, and what the compiler's build needs.
fn environment(sh: &Shell) -> Result<Environment> {
    let tools = build_tools::ensure(sh).context("preparing the build of shaderc")?;
    Ok(setup::make_sure(sh)?.environment()?.and(tools))
}
