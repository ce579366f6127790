//! The state of one thread of a soak run, and the work that it draws.

use std::sync::Arc;

use anyhow::Result;
use dml::core::{Strategy, Tuning};
use dml::{Buffer, Device, FeatureLevel};
use dml_conformance::cases::{self, Filter};
use dml_reference::Random;

use super::{Shared, Tally};
use crate::load::{Job, Work};

/// A thread's state. What it does depends on the seed and its number alone; what other threads do
/// meanwhile does not.
pub(super) struct Worker<'a> {
    pub(super) device: Device,
    pub(super) shared: &'a Shared<'a>,
    pub(super) random: Random,
    pub(super) tally: Tally,
    /// Buffers that live for a while, with the byte that each is full of.
    pub(super) held: Vec<(Buffer, u8)>,
    pub(super) thread: u32,
    /// Cases still to be drawn, and the seed of the next ones.
    works: Vec<Arc<Work>>,
    next_seed: u64,
}

impl<'a> Worker<'a> {
    pub(super) fn new(device: Device, shared: &'a Shared<'a>, thread: u32) -> Self {
        let mut random = Random::new(&format!("soak/{}/{thread}", shared.seed));
        let next_seed = random.bits();
        let (tally, held, works) = (Tally::default(), Vec::new(), Vec::new());
        Self { device, shared, random, tally, held, thread, works, next_seed }
    }

    /// The device, with a strategy drawn.
    pub(super) fn device(&mut self) -> Device {
        let strategy = self.random.pick(&Strategy::ALL);
        let tuning = if self.random.one_in(4) {
            Tuning::new()
        } else {
            Tuning::new().with_strategy(strategy)
        };
        self.device.with_tuning(tuning)
    }

    /// A case: cases come in batches with one of each operator, data type and rank.
    pub(super) fn work(&mut self) -> Result<Arc<Work>> {
        if self.works.is_empty() {
            let drawn: Vec<_> =
                cases::random(FeatureLevel::V6_4, &Filter::default(), 1, self.next_seed).collect();
            self.next_seed = self.random.bits();
            let works = drawn.iter().filter_map(|case| Work::new(case).transpose());
            self.works = works.collect::<Result<_>>()?;
        }
        let count = u32::try_from(self.works.len()).unwrap_or(u32::MAX);
        let at = self.random.below(count) as usize;
        Ok(self.works.swap_remove(at))
    }

    /// A case on the device. One that the device cannot carry is counted, and another one drawn.
    pub(super) fn job(&mut self, device: &Device) -> Result<Job> {
        loop {
            let work = self.work()?;
            match Job::new(device, &work)? {
                Some(job) => return Ok(job),
                None => self.tally.unsupported += 1,
            }
        }
    }

    /// Compares every byte of a job that was executed.
    pub(super) fn verify(&mut self, device: &Device, job: &Job) -> Result<()> {
        self.tally.bytes += job.verify(device)?;
        self.tally.verified += 1;
        Ok(())
    }
}
