//! Compiles single ONNX nodes of other libraries and of ours with one compiler, without timing them.

mod commands;
mod page;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;
use xshell::{Shell, cmd};

use super::compiled::{self, Compiled};
use super::{Null, folder};
use crate::{peers, process, programs, workspace};
use commands::Commands;
use dml_file::println;
use page::PeerResult;

/// A library's name, and the names of its script and its requirements.
const LIBRARIES: [(&str, &str); 3] = [
    ("ONNX Runtime WebGPU", "onnxruntime-webgpu"),
    ("ncnn", "ncnn"),
    ("ONNX Runtime ggml", "onnxruntime-ggml"),
];
/// Additional packages: a converter for ncnn, and onnx.
const TOOLS: [&str; 2] = ["pnnx", "onnxruntime"];
const OURS: &str = "dml";
const SCRIPTS: &str = "crates/dml-bench/peers";
/// The beginning of the names of null devices.
const DEVICE: &str = "Null hardware";
/// The time limit in seconds for one library with one node.
const LIMIT: &str = "120";

/// Writes the page of each family to docs/benchmarks.
pub(super) fn write_pages(sh: &Shell, families: &[Null<'_>], compiler: &str) -> Result<()> {
    let names: Vec<&str> = LIBRARIES.iter().map(|(_, script)| *script).chain(TOOLS).collect();
    let peers = peers::make_sure(sh, &names)?;
    let programs = Programs {
        dml: programs::build(sh, "dml-cli", "dml")?,
        driver: programs::example_library(sh, "dml-fault", "wrapping_driver")?,
        scripts: workspace::root().join(SCRIPTS),
        peers,
    };
    let works = programs.works(sh)?;
    for null in families {
        let mut rows = Vec::new();
        for work in &works {
            rows.push(PeerResult::new(work, OURS, programs.ours(sh, null, work)));
            for (name, script) in LIBRARIES {
                rows.push(PeerResult::new(work, name, programs.of_peer(sh, null, script, work)));
            }
        }
        let file = workspace::root().join(format!("docs/benchmarks/compiled-{}.md", null.family));
        sh.write_file(&file, page::text(null.family, compiler, &rows))?;
        println!("{}: {} rows", file.display(), rows.len());
    }
    Ok(())
}

/// One run of a node with a library.
struct Run {
    commands: Commands,
    kernels: Vec<Compiled>,
}

/// The last line of `once.py`'s output.
#[derive(Deserialize)]
#[serde(untagged)]
enum Answer {
    Ran { before: usize },
    Refused { reason: String },
}

struct Programs {
    dml: PathBuf,
    driver: PathBuf,
    scripts: PathBuf,
    /// The folder of the libraries' packages.
    peers: PathBuf,
}

impl Programs {
    /// Makes the models, and returns their names.
    fn works(&self, sh: &Shell) -> Result<Vec<String>> {
        let (script, folder) = (self.scripts.join("works.py"), models());
        let packages = self.peers.join("onnxruntime");
        let made = cmd!(sh, "python3 {script} {folder}").env("PYTHONPATH", packages).read()?;
        ensure!(!made.is_empty(), "{} has made no models", script.display());
        Ok(made.lines().map(str::to_owned).collect())
    }

    fn ours(&self, sh: &Shell, null: &Null<'_>, work: &str) -> Result<Run> {
        let (program, model) = (&self.dml, models().join(work).join("model.onnx"));
        let (environment, output) = null.fresh(sh, &Path::new(OURS).join(work))?;
        let command = cmd!(sh, "{program} run {model} --random --quiet").ignore_stderr();
        process::succeed(environment.apply(command.quiet()))?;
        Run::read(&output, Commands::of_last_submission)
    }

    fn of_peer(&self, sh: &Shell, null: &Null<'_>, library: &str, work: &str) -> Result<Run> {
        let (script, peers, model) =
            (self.scripts.join("once.py"), &self.peers, models().join(work));
        let (environment, output) = null.fresh(sh, &Path::new(library).join(work))?;
        let environment = environment.with("NCNN_VULKAN_DRIVER", &self.driver);
        let command = cmd!(
            sh,
            "timeout {LIMIT} python3 {script} {peers} {library} {model} {DEVICE} {output}"
        );
        let command = command.quiet().ignore_stderr().ignore_status();
        let printed = environment.apply(command).read()?;
        let last = printed.lines().last().context("it crashes")?;
        match serde_json::from_str(last).context("it crashes")? {
            Answer::Ran { before } => Run::read(&output, |text| Commands::after(text, before)),
            Answer::Refused { reason } => anyhow::bail!(reason),
        }
    }
}

impl Run {
    fn read(output: &Path, commands: impl Fn(&str) -> Commands) -> Result<Self> {
        let text = std::fs::read_to_string(output.join("0/commands")).unwrap_or_default();
        let commands = commands(&text);
        ensure!(!commands.dispatches.is_empty(), "it leaves the node to the CPU");
        Ok(Self { commands, kernels: compiled::read(output)? })
    }
}

/// The folder of the models.
fn models() -> PathBuf {
    folder().join("works")
}
