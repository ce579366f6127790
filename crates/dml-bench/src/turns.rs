//! Runs an operator and its baseline in turns, in the same buffers, beside memset. Each result of the
//! operator is verified, and the first one of the baseline in each buffer.

use std::hint::black_box;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use dml::{Buffer, CompiledOperator, Device};

use crate::case::{Baseline, Case};
use crate::lane::{Expected, Lane, Sample};

/// The memory for the buffers of one case, unless two buffers take more.
const MEMORY: u64 = 4 << 30;

/// The bytes that a case reads and writes.
pub(crate) struct Data {
    inputs: Vec<Vec<u8>>,
    expected: Vec<u8>,
    /// The bytes that the baseline copies.
    source: Vec<u8>,
}

impl Data {
    /// The bytes of `case`, as it was compiled.
    pub(crate) fn of(case: &Case, compiled: &CompiledOperator) -> Self {
        let expected = case.work.expected(compiled.output_size(0));
        let inputs = case.work.inputs();
        let first = inputs.first().map_or(&[][..], Vec::as_slice);
        let length = match case.baseline {
            Baseline::CopyOfInput => first.len(),
            Baseline::Copy => usize::try_from(case.work.bytes()).unwrap_or(usize::MAX),
            Baseline::Fill | Baseline::EmptySubmit => 0,
        };
        let source = first.iter().copied().cycle().take(length).collect();
        Self { inputs, expected, source }
    }
}

/// The operator, the baseline and memset of one case, which take turns.
pub(crate) struct Turns<'a> {
    operators: Vec<Lane<'a>>,
    baselines: Vec<Lane<'a>>,
    host: Vec<Vec<u8>>,
}

/// The times of all turns.
#[derive(Default)]
pub(crate) struct Times {
    /// The times of the operator.
    pub(crate) operator: Vec<Sample>,
    /// The times of the baseline.
    pub(crate) baseline: Vec<Sample>,
    /// The times of the host's memset; empty if the baseline is not a fill.
    pub(crate) memset: Vec<Duration>,
}

impl<'a> Turns<'a> {
    /// Records everything for a last-level cache of `cache` bytes.
    pub(crate) fn new(
        device: &Device,
        case: &Case,
        compiled: &CompiledOperator,
        data: &'a Data,
        cache: u64,
    ) -> Result<Self> {
        let bytes = case.work.bytes().max(data.source.len() as u64);
        let inputs: Vec<Buffer> =
            data.inputs.iter().map(|bytes| input(device, bytes)).collect::<Result<_>>()?;
        let count = if case.is_computing { 2 } else { rotation(bytes, cache) };
        let buffers = buffers(device, compiled.output_size(0).max(bytes), count)?;
        // Timestamps take time themselves, which only matters for an empty submission.
        let timed = case.baseline != Baseline::EmptySubmit;
        let expected = match case.work.tolerance() {
            0.0 => Expected::Bytes(&data.expected),
            tolerance => Expected::Near(&data.expected, tolerance),
        };
        let operators = buffers
            .iter()
            .map(|buffer| Lane::operator(device, compiled, buffer, &inputs, expected, timed));
        // The first input if that is copied: the speed of memory depends on its address.
        let is_input = data.inputs.first() == Some(&data.source);
        let own = match &data.source[..] {
            bytes if is_input || bytes.is_empty() => None,
            bytes => Some(input(device, bytes)?),
        };
        let source = own.as_ref().or(inputs.first()).map(|it| (it, &data.source[..]));
        let baselines = buffers
            .iter()
            .map(|buffer| Lane::baseline(device, case.baseline, buffer, bytes, source, timed));
        let is_fill = case.baseline == Baseline::Fill;
        let host = if is_fill { count.min(4) } else { 0 };
        let length = usize::try_from(bytes)?;
        Ok(Self {
            operators: operators.collect::<Result<_>>()?,
            baselines: baselines.collect::<Result<_>>()?,
            // Not zeros, for which the system would not allocate pages.
            host: (0..host).map(|_| vec![1; length]).collect(),
        })
    }

    /// Runs everything once; no figure includes these times.
    pub(crate) fn first_runs(&mut self) -> Result<()> {
        for lane in &mut self.baselines {
            first_run(lane).context("the baseline")?;
        }
        for lane in &mut self.operators {
            first_run(lane).context("the operator")?;
        }
        Ok(())
    }

    /// Runs each once, with timing.
    pub(crate) fn turn(&mut self, turn: usize, times: &mut Times) -> Result<()> {
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

/// Runs a lane with its one-time costs, verifies it, and leaves the buffer overwritten.
pub(crate) fn first_run(lane: &mut Lane<'_>) -> Result<()> {
    lane.reset()?;
    lane.run()?;
    lane.verify()?;
    lane.reset()
}

/// Runs a lane of each side, on different buffers: in even rounds the first side before the second, in odd
/// rounds the other way round, so that drift affects both.
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

/// The lanes of `count` on each side that take this turn: after half as many turns, one side uses the buffer
/// that the other uses now.
fn places(turn: usize, count: usize) -> [usize; 2] {
    [turn % count, (turn + count / 2) % count]
}

/// Creates so many buffers, which the lanes of both sides share.
pub(crate) fn buffers(device: &Device, size: u64, count: usize) -> Result<Vec<Rc<Buffer>>> {
    (0..count).map(|_| Ok(Rc::new(device.create_buffer(size)?))).collect()
}

/// The number of buffers that take turns: 4 below 1 MiB, which are meant to stay in the cache, else as many
/// as have twice the last-level cache together, from 2 to 32; fewer if memory is short.
pub(crate) fn rotation(bytes: u64, cache: u64) -> usize {
    let wanted = if bytes < 1 << 20 { 4 } else { (2 * cache).div_ceil(bytes).clamp(2, 32) };
    let affordable = (MEMORY / bytes).max(2);
    usize::try_from(wanted.min(affordable)).unwrap_or(2)
}

fn memset(bytes: &mut [u8]) -> Duration {
    let start = Instant::now();
    black_box(&mut *bytes).fill(black_box(0));
    black_box(&mut *bytes);
    start.elapsed()
}

fn input(device: &Device, bytes: &[u8]) -> Result<Buffer> {
    let buffer = device.create_buffer(bytes.len() as u64)?;
    device.vulkan().write_buffer(&buffer, 0, bytes)?;
    Ok(buffer)
}
