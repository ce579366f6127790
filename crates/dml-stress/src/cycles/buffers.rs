//! Cycles of an operator and its buffers on one device.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, ensure};
use dml::core::{Strategy, Tuning};
use dml::vk::Recorder;
use dml::{Device, FeatureLevel};
use dml_conformance::cases::{self, Filter};

use super::{ALLOWED, Rows, progress};
use crate::load::{Job, LoadDevice, Stretches, Usage, Work};

/// How a cycle ends.
const ENDS: usize = 4;

/// How often everything that differs between cycles has happened before anything is measured: the
/// pipelines are made, and what the driver keeps for later is there.
const WARM_UP_ROUNDS: usize = 2;

/// So many cases differ at most, so that rounds stay short.
const MOST_WORKS: usize = 256;

pub(super) fn run(place: &LoadDevice, count: u32, seed: u64, rows: &mut Rows) -> Result<()> {
    let works = works(seed)?;
    let device = place.open()?;
    let mut cycles = Cycles { device: &device, works: &works, verified: 0, carried: 0 };
    let warm_up = cycles.in_a_round() * WARM_UP_ROUNDS;
    let count = usize::try_from(count)?;
    let bar = progress(warm_up + count, "cycles of buffers and operators");
    for at in 0..warm_up {
        cycles.cycle(at)?;
        bar.inc(1);
    }
    (cycles.verified, cycles.carried) = (0, 0);
    let mut stretches = Stretches::start(count);
    let before = Usage::of(&device);
    let start = Instant::now();
    for at in 0..count {
        cycles.cycle(at)?;
        stretches.done(at + 1);
        bar.inc(1);
    }
    let seconds = start.elapsed().as_secs_f64();
    let after = Usage::of(&device);
    bar.finish_and_clear();
    ensure!(cycles.verified > 0, "no output was compared: there are too few cycles");
    rows.note("cycles of buffers and operators", format!("{count} in {seconds:.1} s"));
    rows.note("of these carried by the device", cycles.carried.to_string());
    rows.note("bytes verified", cycles.verified.to_string());
    rows.note("cycles before the measurement", warm_up.to_string());
    rows.count("Vulkan objects", before.objects, after.objects);
    rows.count("buffers with memory", before.memory.buffers, after.memory.buffers);
    let change = |before: u64, after: u64| Some(after.cast_signed() - before.cast_signed());
    let (at_first, at_last) = (before.memory, after.memory);
    rows.growth("device memory of buffers", change(at_first.allocated, at_last.allocated), 0);
    rows.growth("device memory in all", change(at_first.reserved, at_last.reserved), 0);
    rows.growth("heap of the runtime", Some(after.heap - before.heap), 0);
    rows.growth("physical memory of the process", stretches.growth(), ALLOWED);
    Ok(())
}

/// Random cases of operators, data types and ranks that the highest level accepts, evenly chosen from
/// all of them.
fn works(seed: u64) -> Result<Vec<Arc<Work>>> {
    let cases: Vec<_> = cases::random(FeatureLevel::V6_4, &Filter::default(), 1, seed).collect();
    let step = cases.len().div_ceil(MOST_WORKS).max(1);
    cases.iter().step_by(step).filter_map(|case| Work::new(case).transpose()).collect()
}

struct Cycles<'a> {
    device: &'a Device,
    works: &'a [Arc<Work>],
    verified: u64,
    carried: u32,
}

impl Cycles<'_> {
    /// After so many cycles every case has run with every strategy.
    fn in_a_round(&self) -> usize {
        self.works.len() * Strategy::ALL.len()
    }

    fn cycle(&mut self, at: usize) -> Result<()> {
        let (case, round) = (at % self.works.len(), at / self.works.len());
        let strategy = Strategy::ALL[round % Strategy::ALL.len()];
        let device = self.device.with_tuning(Tuning::new().with_strategy(strategy));
        // So that a case ends in each way.
        let end = (at + round) % ENDS;
        let Some(job) = Job::new(&device, &self.works[case])? else { return Ok(()) };
        self.carried += 1;
        match end {
            0 => {
                job.submit(&device)?.wait()?;
                self.verified += job.verify(&device)?;
            }
            1 => {
                let ticket = job.submit(&device)?;
                drop(job);
                drop(ticket);
            }
            2 => {
                let ticket = job.submit(&device)?;
                drop(ticket);
                drop(job);
            }
            _ => {
                let mut recorder = Recorder::new(device.vulkan())?;
                recorder.dispatch(&job.table()?)?;
                drop(job);
                drop(recorder);
            }
        }
        Ok(())
    }
}
