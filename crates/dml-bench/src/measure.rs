//! Measures cases: those of one group in turns with each other, each with its baseline and its peers.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use dml::{CompiledOperator, Device};

use crate::case::{Case, Other};
use crate::lane::Sample;
use crate::peers::{PeerRuns, Peers};
use crate::report::{CaseResult, CaseTimes, OtherResult, Outcome};
use crate::stats::{Ratio, Summary};
use crate::turns::{Data, Times, Turns};

/// The time for one case, and the machine's cache.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Turns are taken for this long, including verification, without peers.
    pub(crate) time: Duration,
    /// The least number of turns, unless patience runs out.
    pub(crate) least: usize,
    /// Bytes of the last-level cache, if known.
    pub(crate) cache: u64,
}

/// More turns would not improve the result.
const MOST_TURNS: usize = 1001;
/// A case that takes so many times its time ends with fewer turns.
const PATIENCE: u32 = 4;

/// Measures the cases of `group`, in turns. If the device or the runtime refuses a case, that is an outcome,
/// not an error.
///
/// # Errors
/// The device was lost. A wrong result is an outcome.
pub(crate) fn measure(
    device: &Device,
    group: &[Case],
    effort: Effort,
    peers: &mut Peers,
) -> Result<Vec<CaseResult>> {
    let compiled: Vec<_> = group.iter().map(|case| compile(device, case)).collect();
    let mut running = Vec::new();
    for (case, compiled) in group.iter().zip(&compiled) {
        running.push(Running::new(device, case, compiled, effort.cache)?);
    }
    for one in &mut running {
        one.prepare_peers(device, peers);
    }
    take_turns(device, &mut running, effort, peers)?;
    let times: Vec<_> = running.iter().map(Running::operator_times).collect();
    let result = |one: Running<'_>| {
        let others = one.case.beside.iter().map(|other| beside(device, one.case, other, &times));
        let others = others.collect();
        one.finish(device, others)
    };
    Ok(running.into_iter().map(result).collect())
}

/// The operator and its bytes, or the reason why it is refused.
fn compile(device: &Device, case: &Case) -> Result<(CompiledOperator, Data), String> {
    let compiled = case.work.compile(device).map_err(|error| error.to_string())?;
    let data = Data::of(case, &compiled);
    Ok((compiled, data))
}

fn take_turns(
    device: &Device,
    running: &mut [Running<'_>],
    effort: Effort,
    peers: &mut Peers,
) -> Result<()> {
    let time = effort.time * u32::try_from(running.len())?;
    let (start, mut with_peers) = (Instant::now(), Duration::ZERO);
    for turn in 0..MOST_TURNS {
        let elapsed = start.elapsed().saturating_sub(with_peers);
        let least = if elapsed > PATIENCE * time { 1 } else { effort.least };
        if (turn >= least && elapsed > time) || running.iter().all(|it| it.turns.is_err()) {
            break;
        }
        // Each case is first as often as last.
        let is_forward = turn.is_multiple_of(2);
        for place in 0..running.len() {
            let index = if is_forward { place } else { running.len() - 1 - place };
            let one = &mut running[index];
            one.turn(device, turn)?;
            let start = Instant::now();
            if one.turns.is_ok() {
                peers.turn(&mut one.peers, PATIENCE * effort.time);
            }
            with_peers += start.elapsed();
        }
    }
    Ok(())
}

/// One case while it is measured.
struct Running<'a> {
    case: &'a Case,
    turns: Result<Turns<'a>, Outcome>,
    times: Times,
    peers: Vec<PeerRuns>,
}

impl<'a> Running<'a> {
    fn new(
        device: &Device,
        case: &'a Case,
        compiled: &'a Result<(CompiledOperator, Data), String>,
        cache: u64,
    ) -> Result<Self> {
        let turns = match compiled {
            Err(reason) => Err(Outcome::Refused(reason.clone())),
            Ok((compiled, data)) => match Turns::new(device, case, compiled, data, cache) {
                Ok(turns) => Ok(turns),
                Err(error) if is_refusal(&error) => Err(Outcome::Refused(error.to_string())),
                Err(error) => return Err(error).context(case.id.clone()),
            },
        };
        let mut one = Self { case, turns, times: Times::default(), peers: Vec::new() };
        one.step(device, |turns, _| turns.first_runs())?;
        Ok(one)
    }

    fn prepare_peers(&mut self, device: &Device, peers: &mut Peers) {
        if self.turns.is_ok() {
            self.peers = peers.prepare(self.case, &device.vulkan().info().name);
        }
    }

    fn turn(&mut self, device: &Device, turn: usize) -> Result<()> {
        self.step(device, |turns, times| turns.turn(turn, times))
    }

    /// Runs `work` unless an earlier step failed; only a lost device ends everything.
    fn step(
        &mut self,
        device: &Device,
        step: impl FnOnce(&mut Turns<'a>, &mut Times) -> Result<()>,
    ) -> Result<()> {
        let Ok(turns) = &mut self.turns else { return Ok(()) };
        match step(turns, &mut self.times) {
            Ok(()) => Ok(()),
            Err(error) if device.vulkan().is_lost() => Err(error).context(self.case.id.clone()),
            Err(error) => {
                self.turns = Err(Outcome::Failed(format!("{error:#}")));
                Ok(())
            }
        }
    }

    /// The case's name, and its operator's times if there are any.
    fn operator_times(&self) -> (&'a str, Option<Vec<Duration>>) {
        (&self.case.id, self.turns.is_ok().then(|| wall(&self.times.operator)))
    }

    fn finish(self, device: &Device, others: Vec<OtherResult<Ratio>>) -> CaseResult {
        let outcome = match self.turns {
            Err(outcome) => outcome,
            Ok(_) => {
                let name = &device.vulkan().info().name;
                Outcome::Measured(Box::new(summarize(&self.times, self.peers, others, name)))
            }
        };
        CaseResult {
            id: self.case.id.clone(),
            bytes: self.case.work.bytes(),
            baseline: self.case.baseline.name(),
            target: target(device, self.case),
            outcome,
        }
    }
}

fn target(device: &Device, case: &Case) -> Option<f64> {
    let is_cpu = device.vulkan().info().device_type == dml::vk::DeviceType::Cpu;
    if is_cpu { case.target } else { case.gpu_target.or(case.target) }
}

/// The ratio of `case` to another case of its group.
fn beside(
    device: &Device,
    case: &Case,
    other: &Other,
    times: &[(&str, Option<Vec<Duration>>)],
) -> OtherResult<Ratio> {
    let of = |id: &str| times.iter().find(|(name, _)| *name == id).map(|(_, times)| times);
    let outcome = match (of(&case.id), of(other.name)) {
        (_, None) => Err("it was not asked for".to_owned()),
        (Some(Some(one)), Some(Some(other))) => Ok(Ratio::of(one, other)),
        _ => Err("it has no times".to_owned()),
    };
    OtherResult {
        name: other.name.to_owned(),
        target: other.target_on(&device.vulkan().info().name),
        outcome: outcome.into(),
    }
}

/// Whether the case is too large for the device, or for the memory that is left.
fn is_refusal(error: &anyhow::Error) -> bool {
    let vulkan = match error.downcast_ref::<dml::Error>() {
        Some(dml::Error::Vulkan(error)) => Some(error),
        _ => error.downcast_ref(),
    };
    vulkan.is_some_and(|it: &dml::vk::Error| it.is_out_of_memory() || it.is_unsupported())
}

fn wall(samples: &[Sample]) -> Vec<Duration> {
    samples.iter().map(|sample| sample.wall).collect()
}

fn summarize(
    times: &Times,
    runs: Vec<PeerRuns>,
    others: Vec<OtherResult<Ratio>>,
    device: &str,
) -> CaseTimes {
    let on_device =
        |samples: &[Sample]| samples.iter().map(|sample| sample.device).collect::<Option<Vec<_>>>();
    let (operator, baseline) = (wall(&times.operator), wall(&times.baseline));
    let device_times = on_device(&times.operator).zip(on_device(&times.baseline));
    let memset = (!times.memset.is_empty()).then_some(&times.memset);
    CaseTimes {
        ratio: Ratio::of(&operator, &baseline),
        device_ratio: device_times.as_ref().map(|(one, other)| Ratio::of(one, other)),
        device: device_times.as_ref().map(|(one, _)| Summary::of(one)),
        memset_ratio: memset.map(|memset| Ratio::of(&operator, memset)),
        memset: memset.map(|memset| Summary::of(memset)),
        others,
        peers: runs.into_iter().map(|runs| runs.finish(&operator, &baseline, device)).collect(),
        operator: Summary::of(&operator),
        baseline: Summary::of(&baseline),
    }
}
