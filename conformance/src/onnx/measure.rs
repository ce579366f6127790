//! Measures whole models on a device: their nodes, dispatches and latency, there and with other libraries.

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

/// Runs are repeated for this time, within a least and a greatest number of runs.
const LONG: Duration = Duration::from_secs(3);
const RUNS: std::ops::RangeInclusive<usize> = 3..=100;

/// A model on a device.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// The number of nodes in the model's graph and its subgraphs.
    pub nodes: usize,
    /// The number of kernels that one run dispatches.
    pub dispatches: usize,
    /// The median time of runs after a first one, including writing inputs and reading outputs.
    pub latency: Duration,
    /// The results of other libraries on the same device, in their order.
    pub answers: Vec<Answer>,
}

/// The latencies of another library for the same models.
#[derive(Clone, Debug, Deserialize)]
pub struct Peer {
    /// Its name and version, and what it runs on.
    pub name: String,
    /// The median for each model, by its name.
    pub seconds: HashMap<String, f64>,
}

/// The measurements of all models on all devices.
#[derive(Clone, Debug)]
pub struct Figures {
    /// One entry for each target.
    pub targets: Vec<OfTarget>,
    /// Another library, on the CPU.
    pub peer: Option<Peer>,
    /// Other libraries, on the targets' devices.
    pub libraries: Vec<Library>,
}

/// The measurements of all models on a device.
#[derive(Clone, Debug)]
pub struct OfTarget {
    /// The driver's name and version, as it reports them.
    pub driver: String,
    /// One entry for each test; `None` for a test that did not pass.
    pub models: Vec<Option<Measurement>>,
}

/// Measures the tests that passed, one after another and in this process, because workers would slow each
/// other down. The libraries are measured right after each test, so that a machine that becomes slower
/// affects all; `tell` is called for each of them.
///
/// # Errors
/// A device cannot be opened, or a model that ran before fails.
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
    let declared = &contents.outline.inputs;
    let given = contents.sets.first().context("there are no inputs")?.inputs(declared)?;
    let named = declared.iter().zip(given).flat_map(|(it, given)| given.named(&it.name));
    let inputs = named.fold(Inputs::new(), |it, (name, tensor)| it.with_tensor(name, tensor));
    let session = Session::new(device, Model::read(&contents.model)?);
    // The first run also initializes operators.
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

/// The number of kernels in the program's plans. An executable does not expose its plans; compiling again
/// uses cached pipelines.
fn dispatches(program: &Program, device: &Device) -> anyhow::Result<usize> {
    let compile = |work: &Work| match work {
        Work::Operator(operator) => device.compile(operator.clone()),
        Work::Graph { desc, .. } => device.compile_graph(desc),
    };
    let count = |compiled: CompiledOperator| {
        let steps = &compiled.vulkan().plan().exec;
        steps.iter().filter(|step| matches!(step, PlanStep::Dispatch(_))).count()
    };
    let counts = program.operators().iter().map(|operator| compile(&operator.work).map(count));
    let counts = counts.collect::<dml::Result<Vec<_>>>()?;
    let executed = program.steps().iter().filter_map(|step| match step {
        Step::Dispatch(dispatch) => Some(counts[dispatch.operator]),
        Step::Initialize(_) | Step::Read(_) => None,
    });
    Ok(executed.sum())
}
