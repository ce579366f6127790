//! Measuring one case: the operator, its baseline and memset in turns. Each result of the operator is
//! verified, and the first one of the baseline in each buffer.

use std::hint::black_box;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use dml::{Buffer, CompiledOperator, Device};

use crate::case::{Baseline, Case};
use crate::lane::{Lane, Sample};
use crate::peers::{PeerRuns, Peers};
use crate::report::{CaseResult, CaseTimes, Outcome};
use crate::stats::{Ratio, Summary};

/// How long one case may take, and what fits this machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Turns are taken for this long, verification included.
    pub(crate) time: Duration,
    /// At least this many, as long as patience lasts.
    pub(crate) least: usize,
    /// Bytes of the last-level cache, if known.
    pub(crate) cache: u64,
}

/// More would say nothing new.
const MOST_TURNS: usize = 1001;
/// What takes this many times as long as it may has as few turns as it had by then.
const PATIENCE: u32 = 4;
/// Buffers of one case take at most this much memory, as far as there are two.
const MEMORY: u64 = 4 << 30;

/// Measures `case`; what the device or the runtime refuses is an outcome, not an error.
///
/// # Errors
/// The device was lost. A wrong result is an outcome.
pub(crate) fn measure(
    device: &Device,
    case: &Case,
    effort: Effort,
    peers: &mut Peers,
) -> Result<CaseResult> {
    let result = |outcome| CaseResult {
        id: case.id.clone(),
        bytes: case.work.bytes(),
        baseline: case.baseline.name(),
        target: target(device, case),
        outcome,
    };
    let compiled = match device.compile(case.work.operator()) {
        Ok(compiled) => compiled,
        Err(error) => return Ok(result(Outcome::Refused(error.to_string()))),
    };
    let data = Data::of(case, &compiled);
    let turns = match Turns::new(device, case, &compiled, &data, effort) {
        Ok(turns) => turns,
        Err(error) if is_refusal(&error) => return Ok(result(Outcome::Refused(error.to_string()))),
        Err(error) => return Err(error).context(case.id.clone()),
    };
    match turns.measure(case, effort, peers) {
        Ok(measured) => Ok(result(Outcome::Measured(Box::new(measured)))),
        Err(error) if device.vulkan().is_lost() => Err(error).context(case.id.clone()),
        Err(error) => Ok(result(Outcome::Failed(format!("{error:#}")))),
    }
}

fn target(device: &Device, case: &Case) -> Option<f64> {
    let is_cpu = device.vulkan().info().device_type == dml::vk::DeviceType::Cpu;
    if is_cpu { case.target } else { case.gpu_target.or(case.target) }
}

/// Too large for the device, or for what memory is left.
fn is_refusal(error: &anyhow::Error) -> bool {
    let vulkan = match error.downcast_ref::<dml::Error>() {
        Some(dml::Error::Vulkan(error)) => Some(error),
        _ => error.downcast_ref(),
    };
    vulkan.is_some_and(|it: &dml::vk::Error| it.is_out_of_memory() || it.is_unsupported())
}

/// The bytes that a case reads and leaves.
struct Data {
    input: Vec<u8>,
    expected: Vec<u8>,
}

impl Data {
    fn of(case: &Case, compiled: &CompiledOperator) -> Self {
        let input = if case.work.has_input { case.work.input_bytes() } else { Vec::new() };
        Self { input, expected: case.work.expected(compiled.output_size(0)) }
    }
}

/// Everything that takes turns.
struct Turns<'a> {
    operators: Vec<Lane<'a>>,
    baselines: Vec<Lane<'a>>,
    host: Vec<Vec<u8>>,
}

/// What the turns told.
#[derive(Default)]
struct Times {
    operator: Vec<Sample>,
    baseline: Vec<Sample>,
    memset: Vec<Duration>,
}

impl<'a> Turns<'a> {
    fn new(
        device: &Device,
        case: &Case,
        compiled: &CompiledOperator,
        data: &'a Data,
        effort: Effort,
    ) -> Result<Self> {
        let bytes = case.work.bytes();
        let input = input(device, &data.input)?;
        let count = rotation(bytes, effort.cache);
        let buffers = buffers(device, compiled.output_size(0), count)?;
        // Timestamps cost time of their own, which only matters where there is nothing else.
        let timed = case.baseline != Baseline::EmptySubmit;
        let source = input.as_ref();
        let operators = buffers
            .iter()
            .map(|it| Lane::operator(device, compiled, it, source, &data.expected, timed));
        let source = source.map(|buffer| (buffer, &data.input[..]));
        let baselines = buffers
            .iter()
            .map(|it| Lane::baseline(device, case.baseline, it, bytes, source, timed));
        let is_fill = case.baseline == Baseline::Fill;
        let host = if is_fill { count.min(4) } else { 0 };
        let length = usize::try_from(bytes)?;
        Ok(Self {
            operators: operators.collect::<Result<_>>()?,
            baselines: baselines.collect::<Result<_>>()?,
            // Not zeros: those would be memory that nobody has touched.
            host: (0..host).map(|_| vec![1; length]).collect(),
        })
    }

    fn measure(mut self, case: &Case, effort: Effort, peers: &mut Peers) -> Result<CaseTimes> {
        for lane in &mut self.baselines {
            first_run(lane).context("the baseline")?;
        }
        for lane in &mut self.operators {
            first_run(lane).context("the operator")?;
        }
        let mut times = Times::default();
        let mut runs = peers.prepare(case);
        let start = Instant::now();
        for turn in 0..MOST_TURNS {
            let least = if start.elapsed() > PATIENCE * effort.time { 1 } else { effort.least };
            if turn >= least && start.elapsed() > effort.time {
                break;
            }
            self.turn(turn, &mut times)?;
            peers.turn(&mut runs);
        }
        Ok(summarize(&times, runs))
    }

    fn turn(&mut self, turn: usize, times: &mut Times) -> Result<()> {
        let (one, other) = in_turns(turn, &mut self.operators, &mut self.baselines)?;
        times.operator.push(one);
        times.baseline.push(other);
        if !self.host.is_empty() {
            let index = turn % self.host.len();
            times.memset.push(memset(&mut self.host[index]));
        }
        let [operator, baseline] = places(turn, self.operators.len());
        self.operators[operator].verify().context("the operator")?;
        self.operators[operator].reset()?;
        self.baselines[baseline].reset()
    }
}

/// Also pays for what only the first run has to, and leaves the buffer overwritten.
pub(crate) fn first_run(lane: &mut Lane<'_>) -> Result<()> {
    lane.reset()?;
    lane.run()?;
    lane.verify()?;
    lane.reset()
}

/// Runs a lane of each, on different buffers: the one before the other in even rounds and the other
/// before the one in odd rounds. What drifts, drifts for both.
pub(crate) fn in_turns(
    turn: usize,
    ones: &mut [Lane<'_>],
    others: &mut [Lane<'_>],
) -> Result<(Sample, Sample)> {
    let count = ones.len();
    let [one, other] = places(turn, count);
    let (one, other) = (&mut ones[one], &mut others[other]);
    if (turn / count).is_multiple_of(2) {
        let first = one.run()?;
        return Ok((first, other.run()?));
    }
    let first = other.run()?;
    Ok((one.run()?, first))
}

/// Which lanes of `count` on each side take this turn: in half as many turns the one is where the
/// other is now.
fn places(turn: usize, count: usize) -> [usize; 2] {
    [turn % count, (turn + count / 2) % count]
}

/// As many buffers, which the lanes of both sides share.
pub(crate) fn buffers(device: &Device, size: u64, count: usize) -> Result<Vec<Rc<Buffer>>> {
    (0..count).map(|_| Ok(Rc::new(device.create_buffer(size)?))).collect()
}

fn summarize(times: &Times, runs: Vec<PeerRuns>) -> CaseTimes {
    let wall = |samples: &[Sample]| samples.iter().map(|it| it.wall).collect::<Vec<_>>();
    let on_device =
        |samples: &[Sample]| samples.iter().map(|it| it.device).collect::<Option<Vec<_>>>();
    let (operator, baseline) = (wall(&times.operator), wall(&times.baseline));
    let device_times = on_device(&times.operator).zip(on_device(&times.baseline));
    let memset = (!times.memset.is_empty()).then_some(&times.memset);
    CaseTimes {
        ratio: Ratio::of(&operator, &baseline),
        device_ratio: device_times.as_ref().map(|(one, other)| Ratio::of(one, other)),
        device: device_times.as_ref().map(|(one, _)| Summary::of(one)),
        memset_ratio: memset.map(|memset| Ratio::of(&operator, memset)),
        memset: memset.map(|memset| Summary::of(memset)),
        peers: runs.into_iter().map(|runs| runs.finish(&operator, &baseline)).collect(),
        operator: Summary::of(&operator),
        baseline: Summary::of(&baseline),
    }
}

fn memset(bytes: &mut [u8]) -> Duration {
    let start = Instant::now();
    black_box(&mut *bytes).fill(black_box(0));
    black_box(&mut *bytes);
    start.elapsed()
}

/// How many buffers take turns: together twice the last-level cache, where one of them is not
/// small enough that it is meant to be there.
pub(crate) fn rotation(bytes: u64, cache: u64) -> usize {
    let wanted = if bytes < 1 << 20 { 4 } else { (2 * cache).div_ceil(bytes).clamp(2, 32) };
    let affordable = (MEMORY / bytes).max(2);
    usize::try_from(wanted.min(affordable)).unwrap_or(2)
}

fn input(device: &Device, bytes: &[u8]) -> Result<Option<Buffer>> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let buffer = device.create_buffer(bytes.len() as u64)?;
    device.vulkan().write_buffer(&buffer, 0, bytes)?;
    Ok(Some(buffer))
}
