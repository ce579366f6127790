//! `cargo xtask onnxruntime`: tests stock versions of ONNX Runtime with the plug-in, installed as users do.

use std::path::{Path, PathBuf};

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::environment::joined;
use crate::programs::Profile;
use crate::{devices, models, pip, process, programs, setup, wheel, workspace};

/// Test the ONNX Runtime plug-in with stock versions of it, on the CPU drivers; fetches what is missing
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Every model, a thousand sessions, a version that is too old, and latency beside `dml run`
    #[arg(long)]
    pub(crate) full: bool,
}

/// The oldest accepted version, and a current one.
const VERSIONS: [&str; 2] = ["1.24.4", "1.32.0"];
const TOO_OLD: &str = "1.23.2";
/// The package with which the tests make models.
const ONNX: &str = "onnx==1.22.0";

pub(crate) const TESTS: &str = "crates/dml-ort/python/tests";

/// Runs the command and returns the exit code of the first program that fails.
pub(crate) fn run(sh: &Shell, args: &Args) -> Result<i32> {
    let folder = workspace::root().join("target/onnxruntime");
    let profile = if args.full { Profile::Release } else { Profile::Dev };
    let installed = install(sh, profile, &folder)?;
    let drivers = setup::make_sure(sh)?.environment()?;
    devices::of_cpu_drivers(sh, &drivers)?;
    let mut environment = drivers.with("DML_LOSSY_LOADER", lossy_loader(sh, &folder)?);
    if args.full {
        let old = onnxruntime(sh, TOO_OLD)?;
        environment = environment.with("DML_FULL", "1").with("DML_OLD_ONNXRUNTIME", old);
    }
    let models = models::make_sure(sh, |name| args.full || models::QUICK.contains(&name))?;
    let tests = workspace::root().join(TESTS);
    for version in VERSIONS {
        let paths = [tests.clone(), installed.clone(), onnxruntime(sh, version)?];
        let environment = environment.clone().with("PYTHONPATH", joined(&paths)?);
        eprintln!("ONNX Runtime {version}");
        for script in [
            cmd!(sh, "python3 {TESTS}/test_provider.py"),
            cmd!(sh, "python3 {TESTS}/test_memory.py"),
            cmd!(sh, "python3 {TESTS}/test_claims.py"),
            cmd!(sh, "python3 {TESTS}/models.py {models}"),
        ] {
            let code = process::exit_code(environment.apply(script))?;
            if code != 0 {
                return Ok(code);
            }
        }
        if args.full {
            let program = programs::build_packages(sh, &["dml-cli"], Profile::Release)?.join("dml");
            let script = cmd!(sh, "python3 {TESTS}/latency.py {models} {program}");
            process::succeed(environment.apply(script))?;
        }
    }
    Ok(0)
}

/// Builds the plug-in's package and installs it below `folder`, which is emptied; returns the folder to
/// import it from.
pub(crate) fn install(sh: &Shell, profile: Profile, folder: &Path) -> Result<PathBuf> {
    sh.remove_path(folder)?;
    let package = wheel::build(sh, profile)?;
    let installed = folder.join("package");
    let named = ["--no-deps".as_ref(), "--no-index".as_ref(), package.as_os_str()];
    pip::install(sh, &named, &installed)?;
    Ok(installed)
}

/// The folder of the current version of ONNX Runtime.
pub(crate) fn current(sh: &Shell) -> Result<PathBuf> {
    let [.., current] = VERSIONS;
    onnxruntime(sh, current)
}

/// The folder of a version of ONNX Runtime, and of other packages that the tests need.
fn onnxruntime(sh: &Shell, version: &str) -> Result<PathBuf> {
    let named = format!("onnxruntime=={version}");
    pip::kept(sh, "onnxruntime", &named, &[&named, ONNX])
}

/// A folder with a Vulkan loader that loses devices.
fn lossy_loader(sh: &Shell, folder: &Path) -> Result<PathBuf> {
    let built = programs::example_library(sh, "dml-fault", "lossy_loader")?;
    let folder = folder.join("lossy");
    sh.create_dir(&folder)?;
    sh.copy_file(built, folder.join("libvulkan.so.1"))?;
    Ok(folder)
}
