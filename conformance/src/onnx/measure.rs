//! What whole models come to on a device, and what a run of one takes, there and by other libraries.

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use dml::core::plan::Step as PlanStep;
use dml::{CompiledOperator, Device};
use dml_import::program::{Program, Step, Work};
use dml_import::{Inputs, Model, Session};
use serde::Deserialize;

use super::libraries::{Answer, Library};
use super::suite::{Contents, Test};
use crate::results::onnx::{Outcome, TargetResults};
use crate::target::Target;

/// Runs are repeated for so long, but so many times at least and at most.
const LONG: Duration = Duration::from_secs(3);
const RUNS: std::ops::RangeInclusive<usize> = 3..=100;

/// A model on a device.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// The nodes of the model's graph and of those in it.
    pub nodes: usize,
    /// Kernels that one run dispatches.
    pub dispatches: usize,
    /// The median of runs after a first one: inputs are written, and outputs are read.
    pub latency: Duration,
    /// What other libraries make of it on the same device, in their order.
    pub answers: Vec<Answer>,
}

/// What another library takes for the same.
#[derive(Clone, Debug, Deserialize)]
pub struct Peer {
    /// Its name and version, and what it runs on.
    pub name: String,
    /// The median for each model, by its name.
    pub seconds: HashMap<String, f64>,
}

/// All models on all devices.
#[derive(Clone, Debug)]
pub struct Figures {
    /// An entry for each target.
    pub targets: Vec<OfTarget>,
    /// Another library, on the CPU.
    pub peer: Option<Peer>,
    /// Other libraries, on the targets' devices.
    pub libraries: Vec<Library>,
}

/// All models on a device.
#[derive(Clone, Debug)]
pub struct OfTarget {
    /// What the driver says of itself.
    pub driver: String,
    /// An entry for each test; none for those that did not pass.
    pub models: Vec<Option<Measurement>>,
}

/// Measures the tests that passed, one after another and in this process: workers would take time from each
/// other. The libraries come right after each, so that a machine which gets slower does so for all; `tell` is
/// told of them.
///
/// # Errors
/// A device cannot be opened, or a model that has run before does not.
pub fn measure(
    target: &Target,
    tests: &[Test],
    results: &TargetResults,
    libraries: &[Library],
    tell: impl Fn(&str),
) -> anyhow::Result<OfTarget> {
    let (_instance, device) = target.device()?.context("models need a Vulkan device")?;
    let one = |(test, outcome): (&Test, Outcome)| {
        if outcome != Outcome::Passed {
            return Ok(None);
        }
        let measured = model(&test.folder, &device);
        let measured =
            measured.with_context(|| format!("measuring {} on {}", test.id, results.title))?;
        let ask = |library: &Library| {
            tell(&format!("measuring {} by {}", test.id, library.name));
            library.measure(&test.folder, &target.run.device.name)
        };
        Ok(Some(Measurement { answers: libraries.iter().map(ask).collect(), ..measured }))
    };
    let models = tests.iter().zip(results.ended.iter().map(|it| it.outcome)).map(one);
    let driver = target.run.device.driver_info.clone();
    Ok(OfTarget { driver, models: models.collect::<anyhow::Result<_>>()? })
}

/// The model in this folder, with its first inputs.
fn model(folder: &Path, device: &Device) -> anyhow::Result<Measurement> {
    let contents = Contents::read(folder)?;
    let given = contents.sets.first().context("there are no inputs")?.inputs()?;
    let names = contents.outline.inputs.iter().map(|it| it.name.as_str());
    let inputs =
        names.zip(given).fold(Inputs::new(), |it, (name, tensor)| it.with_tensor(name, tensor));
    let session = Session::new(device, Model::read(&contents.model)?);
    // The first run also initializes what operators keep.
    session.run(&inputs)?;
    let executable = session.executable(&inputs)?;
    let dispatches = dispatches(executable.program(), device)?;
    let run = || {
        let start = Instant::now();
        executable.run(&inputs).map(|_| start.elapsed())
    };
    let (start, mut times) = (Instant::now(), Vec::new());
    while times.len() < *RUNS.start() || (start.elapsed() < LONG && times.len() < *RUNS.end()) {
        times.push(run()?);
    }
    times.sort_unstable();
    let latency = times[times.len() / 2];
    Ok(Measurement { nodes: contents.outline.nodes, dispatches, latency, answers: Vec::new() })
}

/// An executable does not tell its plans, and compiling once more finds pipelines that are there.
fn dispatches(program: &Program, device: &Device) -> anyhow::Result<usize> {
    let compile = |work: &Work| match work {
        Work::Operator(operator) => device.compile(operator.clone()),
        Work::Graph { desc, .. } => device.compile_graph(desc),
    };
    let count = |compiled: CompiledOperator| {
        let steps = &compiled.vulkan().plan().exec;
        steps.iter().filter(|it| matches!(it, PlanStep::Dispatch(_))).count()
    };
    let counts = program.operators().iter().map(|it| compile(&it.work).map(count));
    let counts = counts.collect::<dml::Result<Vec<_>>>()?;
    let executed = program.steps().iter().filter_map(|step| match step {
        Step::Dispatch(dispatch) => Some(counts[dispatch.operator]),
        Step::Initialize(_) | Step::Read(_) => None,
    });
    Ok(executed.sum())
}
