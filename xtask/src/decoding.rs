//! `cargo xtask decoding`: a language model, decoded by ONNX Runtime and by onnxruntime-genai, with the plug-in and without it.

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::environment::joined;
use crate::models::smollm2;
use crate::programs::Profile;
use crate::{devices, onnxruntime, pip, process, setup, workspace};

/// Decode 64 tokens with SmolLM2-135M on the CPU drivers, compare them with those of ONNX Runtime's CPU provider, and
/// print times and memory, built as for users; fetches the model, 93 MB
#[derive(clap::Args)]
pub(crate) struct Args {}

const GENAI: &str = "onnxruntime-genai==0.18.0";

/// Runs the command and returns the exit code of the first script that fails.
pub(crate) fn run(sh: &Shell) -> Result<i32> {
    let folder = workspace::root().join("target/decoding");
    let installed = onnxruntime::install(sh, Profile::Release, &folder)?;
    let models = smollm2::make_sure(sh)?;
    let tests = workspace::root().join(onnxruntime::TESTS);
    let genai = pip::kept(sh, "onnxruntime", GENAI, &["--no-deps", GENAI])?;
    let paths = [tests.clone(), installed, onnxruntime::current(sh)?, genai];
    let drivers = setup::make_sure(sh)?.environment()?;
    devices::of_cpu_drivers(sh, &drivers)?;
    let environment = drivers.with("PYTHONPATH", joined(&paths)?);
    for script in ["decoding.py", "genai.py"] {
        let script = tests.join(script);
        let code = process::exit_code(environment.apply(cmd!(sh, "python3 {script} {models}")))?;
        if code != 0 {
            return Ok(code);
        }
    }
    Ok(0)
}
