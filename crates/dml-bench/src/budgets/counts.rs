//! Counts of a work's plans.

use std::collections::{HashMap, HashSet};

use anyhow::{Context as _, Result, ensure};
use dml::core::capabilities::work_group;
use dml::core::plan::{Aliases, Cost, Dispatch, KernelKey, Plan, Step};
use dml::vk::{Concurrency, derive_barriers};

use crate::budgets::Profile;

/// The demands of one run on a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Dispatches.
    pub dispatches: u64,
    /// Barriers between the steps, those of the copies of inputs and outputs left out.
    pub barriers: u64,
    /// Hundredths: bytes that all steps read and write, over the bytes of inputs, constants and outputs.
    pub bytes_over_least: u64,
    /// A tenth of all operations, or a tenth of all bytes, are of dispatches that have no more invocations than
    /// this. `None` where nothing is dispatched.
    pub invocations: Option<u64>,
    /// Bytes of SPIR-V of different kernels, those included that run once, before the first run.
    pub kernel_bytes: u64,
    /// Pipelines: kernels with different specializations.
    pub pipelines: u64,
}

/// Dispatches of few invocations count where they take one part in so many of all operations or bytes.
const ONE_PART_IN: u128 = 10;

/// The plans of a work, in the order in which they are executed.
#[derive(Debug)]
pub struct Plans {
    /// Executed in every run.
    pub of_runs: Vec<Plan>,
    /// Executed once, before the first run.
    pub once: Vec<Plan>,
    /// Bytes of inputs, constants and outputs.
    pub least_bytes: u64,
}

impl Plans {
    /// The counts of one run.
    ///
    /// # Errors
    /// A kernel does not state the size of its work groups; the work has neither inputs nor outputs.
    pub(crate) fn counts(&self, profile: &Profile) -> Result<Counts> {
        let steps = || self.of_runs.iter().flat_map(|plan| &plan.exec);
        let dispatches: Vec<&Dispatch> = steps().filter_map(dispatch_of).collect();
        let cost: Cost = steps().map(Step::cost).sum();
        ensure!(self.least_bytes > 0, "there are neither inputs nor outputs");
        let (kernel_bytes, pipelines) = self.compiled();
        Ok(Counts {
            dispatches: dispatches.len() as u64,
            barriers: self.barriers(profile),
            bytes_over_least: hundredths(cost.bytes, self.least_bytes),
            invocations: few_invocations(&dispatches)?,
            kernel_bytes,
            pipelines,
        })
    }

    /// The barriers within plans, and one between neighbouring plans, which the program places.
    fn barriers(&self, profile: &Profile) -> u64 {
        let within = |plan: &Plan| {
            barriers_within(plan, profile).iter().filter(|is_there| **is_there).count() as u64
        };
        let between = self.of_runs.len().saturating_sub(1) as u64;
        between + self.of_runs.iter().map(within).sum::<u64>()
    }

    /// Bytes of the kernels that compiling the work takes, and how many pipelines it makes.
    fn compiled(&self) -> (u64, u64) {
        let plans = self.of_runs.iter().chain(&self.once);
        let pipelines: HashSet<&KernelKey> =
            plans.flat_map(Plan::steps).filter_map(dispatch_of).map(|it| &it.kernel).collect();
        let kernels: HashMap<u128, usize> = pipelines
            .iter()
            .map(|pipeline| (pipeline.variant.identity(), pipeline.variant.spirv.len()))
            .collect();
        (kernels.into_values().sum::<usize>() as u64, pipelines.len() as u64)
    }
}

/// For each step of a run whether a barrier comes before it.
pub(crate) fn barriers_within(plan: &Plan, profile: &Profile) -> Vec<bool> {
    let alignment = profile.capabilities.limits.min_storage_buffer_offset_alignment;
    let all = derive_barriers(&plan.exec, &Aliases::NONE, alignment, Concurrency::Declared);
    all.iter().map(Option::is_some).collect()
}

pub(crate) fn dispatch_of(step: &Step) -> Option<&Dispatch> {
    match step {
        Step::Dispatch(dispatch) => Some(dispatch),
        Step::Fill(_) | Step::Update(_) | Step::Copy(_) => None,
    }
}

/// [`Counts::invocations`].
fn few_invocations(dispatches: &[&Dispatch]) -> Result<Option<u64>> {
    let counts =
        dispatches.iter().map(|dispatch| invocations(dispatch)).collect::<Result<Vec<_>>>()?;
    let tenth_of = |part: fn(&Cost) -> u64| {
        tenth(
            counts
                .iter()
                .copied()
                .zip(dispatches.iter().map(|dispatch| part(&dispatch.cost)))
                .collect(),
        )
    };
    Ok(tenth_of(|cost| cost.operations).min(tenth_of(|cost| cost.bytes)))
}

/// The most invocations of the dispatches that do the first tenth of the work, counted from the dispatches of
/// fewest invocations on. Each dispatch is given as its invocations and its work.
fn tenth(mut dispatches: Vec<(u64, u64)>) -> Option<u64> {
    dispatches.sort_unstable();
    let all: u128 = dispatches.iter().map(|(_, work)| u128::from(*work)).sum();
    let mut so_far = 0;
    let reaches = |(_, work): &&(u64, u64)| {
        so_far += u128::from(*work);
        so_far * ONE_PART_IN >= all
    };
    dispatches.iter().find(reaches).map(|(invocations, _)| *invocations)
}

/// The invocations of a dispatch, idle ones included.
pub(crate) fn invocations(dispatch: &Dispatch) -> Result<u64> {
    let KernelKey { variant, specialization } = &dispatch.kernel;
    let words = variant.spirv.as_chunks::<4>().0.iter().copied().map(u32::from_le_bytes);
    let ids = variant
        .specialization_constants
        .iter()
        .map(|specialization_constant| specialization_constant.id);
    let values = ids.zip(specialization.iter().copied()).collect();
    let group = work_group(&words.collect::<Vec<_>>(), &values)
        .with_context(|| format!("{} does not state the size of its work groups", variant.name))?;
    Ok(group.size.iter().chain(&dispatch.groups).map(|size| u64::from(*size)).product())
}

/// `part / whole` in hundredths, rounded to the nearest.
fn hundredths(part: u64, whole: u64) -> u64 {
    let rounded = (u128::from(part) * 100 + u128::from(whole) / 2) / u128::from(whole);
    u64::try_from(rounded).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_of_the_work_decides_which_dispatches_count() {
        assert_eq!(tenth(vec![(512, 90), (64, 10)]), Some(64));
        assert_eq!(tenth(vec![(512, 91), (64, 9)]), Some(512));
        // Many small ones count together.
        assert_eq!(tenth(vec![(512, 900), (64, 50), (32, 50)]), Some(64));
        assert_eq!(tenth(vec![(64, 1); 96]), Some(64));
        assert_eq!(tenth(vec![(64, 0)]), Some(64));
        assert_eq!(tenth(vec![]), None);
    }

    #[test]
    fn ratios_are_rounded_to_hundredths() {
        assert_eq!(hundredths(3, 2), 150);
        assert_eq!(hundredths(2, 3), 67);
        assert_eq!(hundredths(u64::MAX, 1), u64::MAX);
    }
}
