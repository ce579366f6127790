//! `cargo xtask bench`: the benchmark on every device, side by side with the CPU drivers.

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::{conformance, peers, process};

/// Measure operators against the device's own fill and copy, and against other libraries
#[derive(clap::Args)]
pub(crate) struct Args {
    /// For `dml-bench`, of which `--help` lists them; `--peers` without a folder installs the peers
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<String>,
}

/// The libraries that the benchmark knows, by the names of their requirements.
const PEERS: [&str; 8] =
    ["cupy", "iree", "jax", "ncnn", "numpy", "onnxruntime", "openvino", "torch"];

/// Runs the command and returns the benchmark's exit code.
pub(crate) fn run(sh: &Shell, args: &Args) -> Result<i32> {
    let environment = conformance::environment(sh, true)?;
    let mut arguments = args.args.clone();
    if let Some(at) = arguments.iter().position(|argument| argument == "--peers") {
        let folder = peers::make_sure(sh, &PEERS)?;
        arguments.insert(at + 1, folder.to_string_lossy().into_owned());
    }
    let command = cmd!(sh, "cargo run --locked --release --package dml-bench -- {arguments...}");
    process::exit_code(environment.apply(command))
}
