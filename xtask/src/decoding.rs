//! `cargo xtask decoding`: a language model, decoded by ONNX Runtime with the plug-in and without it.

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::environment::joined;
use crate::models::smollm2;
use crate::programs::Profile;
use crate::{devices, onnxruntime, process, setup, workspace};

/// Decode 64 tokens with SmolLM2-135M on the CPU drivers, compare them with those of ONNX Runtime's CPU provider, and
/// print times and memory, built as for users; fetches the model, 93 MB
#[derive(clap::Args)]
pub(crate) struct Args {}

/// Runs the command and returns the script's exit code.
pub(crate) fn run(sh: &Shell) -> Result<i32> {
    let folder = workspace::root().join("target/decoding");
    let installed = onnxruntime::install(sh, Profile::Release, &folder)?;
    let models = smollm2::make_sure(sh)?;
    let tests = workspace::root().join(onnxruntime::TESTS);
    let paths = [tests.clone(), installed, onnxruntime::current(sh)?];
    let drivers = setup::make_sure(sh)?.environment()?;
    devices::of_cpu_drivers(sh, &drivers)?;
    let environment = drivers.with("PYTHONPATH", joined(&paths)?);
    let script = tests.join("decoding.py");
    process::exit_code(environment.apply(cmd!(sh, "python3 {script} {models}")))
}
