//! `cargo xtask random-nodes`: nodes with random attributes, types and shapes, on every device.

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::{conformance, models, process, programs, workspace};

/// Run random nodes of ONNX and compare with ONNX Runtime's CPU provider; what is not run is counted by reason
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run on the CPU drivers too, even if there are other devices
    #[arg(long)]
    pub(crate) cpu_drivers: bool,
    /// The nodes follow from this number
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u32,
    /// The number of nodes
    #[arg(long, default_value_t = 3000)]
    pub(crate) count: u32,
    /// Draw nodes of this operator only
    #[arg(long, value_name = "NAME")]
    pub(crate) operator: Option<String>,
    /// For `dml-conformance onnx`: --filter GLOB, --device D, --json FILE and so on
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) args: Vec<String>,
}

/// The script that draws nodes, relative to the workspace.
const GENERATE: &str = "xtask/src/random_nodes/generate.py";

/// Runs the command and returns the runner's exit code.
pub(crate) fn run(sh: &Shell, args: &Args) -> Result<i32> {
    let folder = workspace::root().join("target/random-nodes");
    sh.remove_path(&folder)?;
    sh.create_dir(&folder)?;
    let (seed, count) = (args.seed.to_string(), args.count.to_string());
    let only = args.operator.iter().flat_map(|name| ["--operator", name]);
    let generate = models::python(sh, GENERATE)?;
    process::succeed(generate.arg(&folder).args(["--seed", &seed, "--count", &count]).args(only))?;
    let environment = conformance::environment(sh, args.cpu_drivers)?;
    let program = programs::build(sh, "dml-conformance", "dml-conformance")?;
    let more = &args.args;
    let command = cmd!(sh, "{program} onnx {folder} {more...}");
    process::exit_code(environment.apply(command))
}
