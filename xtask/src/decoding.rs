//! `cargo xtask decoding`: a language model, decoded by ONNX Runtime and by onnxruntime-genai, with the plug-in and without it.

use std::path::{Path, PathBuf};

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::environment::joined;
use crate::models::smollm2;
use crate::programs::Profile;
use crate::{devices, onnxruntime, peers, pip, process, setup, workspace};

/// Decode 64 tokens with SmolLM2-135M on the CPU drivers, compare them with those of ONNX Runtime's CPU provider, and
/// print times and memory, built as for users; fetches the model, 93 MB
#[derive(Default, clap::Args)]
pub(crate) struct Args {
    /// Measure a prompt of 128 tokens and 64 tokens beside ONNX Runtime's WebGPU and its CPU instead, in turns, on the
    /// lavapipe of the distribution's backports; installs WebGPU in target/peers
    #[arg(long)]
    peers: bool,
}

const GENAI: &str = "onnxruntime-genai==0.18.0";

/// Runs the command and returns the exit code of the first script that fails.
pub(crate) fn run(sh: &Shell, args: &Args) -> Result<i32> {
    let folder = workspace::root().join("target/decoding");
    let installed = onnxruntime::install(sh, Profile::Release, &folder)?;
    let models = smollm2::make_sure(sh)?;
    let tests = workspace::root().join(onnxruntime::TESTS);
    if args.peers {
        return beside_peers(sh, &[tests, installed, onnxruntime::current(sh)?], &models);
    }
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

/// Measures the models beside other providers of ONNX Runtime; `packages` are Python's folders for this one.
fn beside_peers(sh: &Shell, packages: &[PathBuf], models: &Path) -> Result<i32> {
    let webgpu = peers::make_sure(sh, &["onnxruntime-webgpu"])?.join("onnxruntime-webgpu");
    let script = workspace::root().join(onnxruntime::TESTS).join("decoding_peers.py");
    let environment = setup::backports(sh)?.with("PYTHONPATH", joined(packages)?);
    process::exit_code(environment.apply(cmd!(sh, "python3 {script} {models} {webgpu}")))
}
