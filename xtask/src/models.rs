//! `cargo xtask models`: runs complete public models on every device.

mod filled;
mod memory_cap;
mod package;
mod peers;
mod seeded;
pub(crate) mod smollm2;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::Deserialize;
use xshell::{Shell, cmd};

use crate::programs::Profile;
use crate::{conformance, pip, process, programs, setup, test, workspace};

/// Run public models, compare with ONNX Runtime's answers, and print the time and memory of each, built as for
/// users; fetches them, and sets up CPU drivers where no Vulkan device answers
#[derive(Default, clap::Args)]
pub(crate) struct Args {
    /// Run on the CPU drivers too, even if there are other devices
    #[arg(long)]
    pub(crate) cpu_drivers: bool,
    /// Run on the lavapipe of the distribution's backports alone
    #[arg(long, conflicts_with = "cpu_drivers")]
    pub(crate) backports: bool,
    /// Measure ncnn, IREE and ONNX Runtime with WebGPU on the same devices too: they are installed in
    /// target/peers, 900 MB
    #[arg(long)]
    pub(crate) peers: bool,
    /// Run the models of conformance/models/seeded.json instead, and compare without measuring
    #[arg(long, conflicts_with = "peers")]
    pub(crate) seeded: bool,
    /// Run as on a device whose largest buffer has so many bytes (maxMemoryAllocationSize), such as 16M, and compare
    /// without measuring; models with a larger tensor are refused
    #[arg(long, value_name = "BYTES", value_parser = memory_cap::bytes, conflicts_with = "peers")]
    pub(crate) memory_cap: Option<u64>,
    /// For `dml-conformance onnx`: --filter GLOB, --device D, --json FILE, --markdown FILE and so on
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) args: Vec<String>,
}

/// The folder of the models' data, relative to the workspace: their packages, and ONNX Runtime's outputs for
/// seeded inputs, as archives of `.npy` files.
const KNOWN: &str = "conformance/models";

/// A file in a package.
#[derive(Deserialize)]
struct Packaged {
    package: String,
    version: String,
    /// The name of the file, in any folder of the package.
    file: String,
    sha256: String,
}

/// A model in a package, with known outputs.
#[derive(Deserialize)]
struct Model {
    name: String,
    #[serde(flatten)]
    file: Packaged,
    /// Files of the archive, in the order of the model's inputs and outputs.
    inputs: Vec<String>,
    outputs: Vec<String>,
}

/// Models that run within seconds on a CPU driver: with unknown shapes, with branches, and in one graph.
pub(crate) const QUICK: [&str; 4] =
    ["dtln_2", "silero_vad_16k_op15", "silero_vad_16k_sequence", "silero_vad_op18_ifless"];

/// Runs the command and returns the runner's exit code.
pub(crate) fn run(sh: &Shell, args: &Args) -> Result<i32> {
    let folder = match args.seeded {
        true => seeded::lay_out(sh, &workspace::root().join(KNOWN).join("seeded.json"))?,
        false => lay_out_all(sh)?,
    };
    let environment = match args.backports {
        true => setup::backports(sh)?,
        false => conformance::environment(sh, args.cpu_drivers)?,
    };
    let program = program(sh)?;
    let given = |option: &str| args.args.iter().any(|arg| arg.starts_with(option));
    let mut options: Vec<OsString> = Vec::new();
    if !given("--timeout") && !given("--no-isolation") {
        options.extend(["--timeout".into(), TIMEOUT.into()]);
    }
    // The build of `ci`, which runs beside other steps, is not suitable for measuring. Drivers that only
    // workers see cannot be measured.
    if let Some(bytes) = args.memory_cap {
        options.extend(["--profile".into(), memory_cap::profile(sh, bytes)?.into()]);
    }
    let is_measured = !setup::in_ci() && !given("--icd") && !args.seeded;
    if is_measured && args.memory_cap.is_none() {
        let beside = filled::measured(sh, &folder)?;
        options.extend(["--measure".into(), "--beside".into(), beside.into()]);
        options.extend(["--made-by".into(), args.shown().into()]);
        if args.peers {
            options.extend(["--peers".into(), peers::file(sh)?.into()]);
        }
    } else if args.peers {
        eprintln!("models: nothing is measured here, and no peers are");
    }
    let more = &args.args;
    let is_validated = more.iter().any(|option| option == "--validation");
    let environment = if is_validated { test::with_hazards(environment) } else { environment };
    let command = cmd!(sh, "{program} onnx {folder} --whole-models {options...} {more...}");
    process::exit_code(environment.apply(command))
}

impl Args {
    /// The command for display in a page.
    fn shown(&self) -> String {
        let flags = [
            (self.cpu_drivers, " --cpu-drivers"),
            (self.backports, " --backports"),
            (self.peers, " --peers"),
        ];
        let given = flags.into_iter().filter(|(is_given, _)| *is_given).map(|(_, flag)| flag);
        ["cargo xtask models"].into_iter().chain(given).collect()
    }
}

/// The time limit in seconds for one model: the largest takes a CPU driver most of a minute on a busy machine.
const TIMEOUT: &str = "300";

/// The path of the runner; `ci` has built it already.
fn program(sh: &Shell) -> Result<PathBuf> {
    if setup::in_ci() {
        return programs::build(sh, "dml-conformance", "dml-conformance");
    }
    let folder = programs::build_packages(sh, &["dml-conformance"], Profile::Release)?;
    Ok(folder.join(format!("dml-conformance{}", std::env::consts::EXE_SUFFIX)))
}

/// The folder of all models, fetched and prepared, including those with random weights.
pub(crate) fn lay_out_all(sh: &Shell) -> Result<PathBuf> {
    let folder = make_sure(sh, |_| true)?;
    filled::lay_out(sh, &workspace::root().join(KNOWN).join("filled.json"), &folder)?;
    Ok(folder)
}

/// The folder of the models whose names are `wanted`, fetched and prepared.
pub(crate) fn make_sure(sh: &Shell, wanted: impl Fn(&str) -> bool) -> Result<PathBuf> {
    let (known, models) = (workspace::root().join(KNOWN), index(sh)?);
    let folder = workspace::root().join("target/models");
    sh.remove_path(&folder)?;
    for model in models.iter().filter(|model| wanted(&model.name)) {
        lay_out(sh, model, &known, &folder.join(&model.name))
            .with_context(|| format!("laying out {}", model.name))?;
    }
    Ok(folder)
}

/// The file of a model of the index in its package, and the package's folder.
pub(crate) fn packaged(sh: &Shell, name: &str) -> Result<(PathBuf, PathBuf)> {
    let models = index(sh)?;
    let model =
        models.iter().find(|model| model.name == name).context("the index has no such model")?;
    let package = model.file.package(sh)?;
    Ok((model.file.find(sh)?, package))
}

/// `python3` with this script, relative to the workspace, which may import onnx, ONNX Runtime and NumPy.
pub(crate) fn python<'a>(sh: &'a Shell, script: &str) -> Result<xshell::Cmd<'a>> {
    Ok(filled::python(sh, &filled::tools(sh)?, script))
}

fn index(sh: &Shell) -> Result<Vec<Model>> {
    let index = sh.read_file(workspace::root().join(KNOWN).join("index.json"))?;
    serde_json::from_str(&index).context("reading the index of models")
}

impl Packaged {
    /// The folder of the package, fetched if it is not cached.
    fn package(&self, sh: &Shell) -> Result<PathBuf> {
        let named = format!("{}=={}", self.package, self.version);
        pip::kept(sh, "models", &named, &["--no-deps", &named])
    }

    /// The path of the file.
    fn find(&self, sh: &Shell) -> Result<PathBuf> {
        package::find(sh, &self.package(sh)?, &self.file, &self.sha256)
    }
}

/// The model with its inputs and outputs, as ONNX lays out its tests.
fn lay_out(sh: &Shell, model: &Model, known: &Path, folder: &Path) -> Result<()> {
    let found = model.file.find(sh)?;
    let values = folder.join("values");
    sh.create_dir(&values)?;
    std::fs::copy(found, folder.join("model.onnx"))?;
    let archive = known.join("references").join(format!("{}.npz", model.name));
    cmd!(sh, "python3 -m zipfile -e {archive} {values}").quiet().run()?;
    let set = folder.join("test_data_set_0");
    sh.create_dir(&set)?;
    for (what, files) in [("input", &model.inputs), ("output", &model.outputs)] {
        for (number, file) in files.iter().enumerate() {
            std::fs::rename(values.join(file), set.join(format!("{what}_{number}.npy")))?;
        }
    }
    sh.remove_path(&values)?;
    Ok(())
}
