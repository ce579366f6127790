//! Estimates how long works take on GPUs that are not there, from what plans ask for and from the instructions
//! that the compiler made. docs/gpu-without-a-gpu.md states the model and how far off it is.

mod cards;
mod code;
mod report;
mod runs;

use anyhow::{Context as _, Result};

pub(super) use cards::Card;
pub(super) use code::Code;
pub(super) use report::{calibration, estimates};
pub(super) use runs::{Dispatch, Run, Runs};

/// The kernels of a work, by their names. Of several pipelines with one name, the first.
pub(super) type Kernels = std::collections::BTreeMap<String, Code>;

/// A work and the kernels that it was compiled to.
#[derive(Clone, Debug)]
pub(super) struct CompiledRun {
    pub(super) run: Run,
    pub(super) kernels: Kernels,
}

/// The greatest part of the time of a dispatch, or of the dispatches between two barriers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    /// Bytes to and from memory.
    Bandwidth,
    /// Vector instructions of all waves.
    Instructions,
    /// The instructions and reads of one wave, one after the other.
    Waiting,
    /// Starting a dispatch, and the barrier before it.
    Starting,
}

/// Estimated microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Estimate {
    pub(super) microseconds: f64,
    /// The limit that takes most of them.
    pub(super) limit: Limit,
}

/// The times of one dispatch on a card, in microseconds, were each its only limit.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Times {
    /// All waves on one SIMD after the other, in whole waves for a SIMD.
    instructions: f64,
    /// As `instructions`, were waves divisible.
    instructions_shared: f64,
    waiting: f64,
}

/// The invocations of a wave. RADV makes waves of 64; on cards with waves of 32, two of these count as one.
const WAVE: f64 = 64.0;

impl CompiledRun {
    /// The time of one run on a card.
    ///
    /// # Errors
    /// A dispatch names a kernel that was not compiled.
    pub(super) fn estimate(&self, card: &Card) -> Result<Estimate> {
        let mut shares = [0.0; 4];
        for stage in &self.run.stages {
            let of_stage = card.stage(stage, &self.kernels)?;
            let starting = card.starting(stage.len());
            shares[Limit::Starting as usize] += starting;
            shares[of_stage.limit as usize] += of_stage.microseconds - starting;
        }
        let limits =
            [Limit::Bandwidth, Limit::Instructions, Limit::Waiting, Limit::Starting].into_iter();
        let limit = limits.max_by(|a, b| shares[*a as usize].total_cmp(&shares[*b as usize]));
        let limit = limit.context("there are no limits")?;
        Ok(Estimate { microseconds: shares.iter().sum(), limit })
    }
}

impl Card {
    /// The time of moving so many bytes.
    pub(super) fn moving(&self, bytes: u64) -> f64 {
        bytes as f64 / self.bandwidth
    }

    fn starting(&self, dispatches: usize) -> f64 {
        self.after_barrier + dispatches.saturating_sub(1) as f64 * self.without_barrier
    }

    /// The time of dispatches that have no barrier between them, and that wait for one before them.
    ///
    /// # Errors
    /// A dispatch names a kernel that is not there.
    pub(super) fn stage(&self, dispatches: &[Dispatch], kernels: &Kernels) -> Result<Estimate> {
        let bytes: u64 = dispatches.iter().map(|dispatch| dispatch.bytes).sum();
        let (mut longest, mut shared, mut waiting) = (0.0_f64, 0.0, 0.0_f64);
        for dispatch in dispatches {
            let code = kernels
                .get(&dispatch.kernel)
                .with_context(|| format!("{} was not compiled", dispatch.kernel))?;
            let times = self.times(dispatch, code, self.latency(bytes));
            longest = longest.max(times.instructions);
            shared += times.instructions_shared;
            waiting = waiting.max(times.waiting);
        }
        let limits = [
            (self.moving(bytes), Limit::Bandwidth),
            (longest.max(shared), Limit::Instructions),
            (waiting, Limit::Waiting),
        ];
        let (time, limit) =
            limits.into_iter().max_by(|a, b| a.0.total_cmp(&b.0)).context("there are no limits")?;
        let starting = self.starting(dispatches.len());
        let limit = if starting > time { Limit::Starting } else { limit };
        Ok(Estimate { microseconds: starting + time, limit })
    }

    /// Clocks that a read of memory takes where dispatches touch so many bytes. What fits the cache is taken to be
    /// there: the dispatch before has just written it, or the run before has read it.
    fn latency(&self, bytes: u64) -> f64 {
        if bytes > self.cache_bytes { self.memory_latency } else { self.cache_latency }
    }

    fn times(&self, dispatch: &Dispatch, code: &Code, latency: f64) -> Times {
        let waves = (dispatch.invocations as f64 / WAVE).ceil();
        let (mut issued, mut chain) = (0.0, 0.0);
        for (section, turns) in code.sections().zip(code.turns(dispatch)) {
            issued += turns * self.issued(section);
            let of_reads = match (section.reads, section.row_bytes) {
                (0, _) => 0.0,
                // Reads that go along a row find most of their bytes in a line that an earlier turn has read.
                (_, Some(bytes)) => {
                    let new = (bytes / self.line_bytes).min(1.0);
                    new * latency + (1.0 - new) * self.line_latency.min(latency)
                }
                (_, None) => latency,
            };
            let of_shared = if section.shared > 0.0 { self.shared_latency } else { 0.0 };
            chain += turns * (of_reads + of_shared + self.chain_clocks * section.instructions);
        }
        let resident = code.waves as f64 / self.counted_waves * self.resident_waves;
        let rounds = (waves / (self.simds * resident.floor().max(1.0))).ceil();
        Times {
            instructions: (waves / self.simds).ceil() * issued / self.clocks,
            instructions_shared: waves / self.simds * issued / self.clocks,
            waiting: rounds * chain / self.clocks,
        }
    }

    /// Clocks for which a wave occupies its SIMD in one turn.
    fn issued(&self, section: &code::Counts) -> f64 {
        self.float_clocks * section.float
            + self.other_clocks * section.other_vector
            + self.quarter_clocks * section.quarter_rate
            + self.shared_clocks * section.shared
            + self.access_clocks * section.accesses
    }
}

#[cfg(test)]
mod tests;
