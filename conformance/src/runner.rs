//! Runs cases on a target and puts the results together.

use std::collections::BTreeSet;
use std::time::Instant;

use dml::FeatureLevel;

use crate::cases::{Case, CaseId};
use crate::execute::{Details, Lowering, run};
use crate::pool::Pool;
use crate::results::{CaseResult, ResultCode, TargetRun};
use crate::target::Target;

/// Of so many failures of a target the matrices are kept: a device that does everything wrong fills
/// no disk.
const KEPT_FAILURES: usize = 200;

/// Runs those of `cases` that `target` can run in this process, and calls `progress` after each; the
/// others are reported as not run. With a `lowering` its plans are executed, otherwise what the runtime
/// compiles.
///
/// # Errors
/// The target cannot be opened.
pub fn run_in_process(
    target: &Target,
    cases: &[Case],
    lowering: Option<&dyn Lowering>,
    details: Details,
    mut progress: impl FnMut(&CaseResult),
) -> anyhow::Result<TargetRun> {
    let mut executor = target.open(lowering)?;
    let mut collector = Collector::new(target, cases);
    for index in collector.missing() {
        let result = run(&cases[index], &*executor, details);
        progress(&result);
        collector.add(index, result);
        if executor.is_lost() {
            executor = target.open(lowering)?;
        }
    }
    Ok(collector.finish(target, cases))
}

/// Runs those of `cases` that `target` can run in worker processes, and calls `progress` after each; the
/// others are reported as not run. Results are in the order of `cases`, however many workers there are.
///
/// # Errors
/// A worker cannot be started or cannot open the target.
pub(crate) fn run_isolated(
    target: &Target,
    cases: &[Case],
    pool: &Pool,
    mut progress: impl FnMut(&CaseResult),
) -> anyhow::Result<TargetRun> {
    let mut collector = Collector::new(target, cases);
    let missing = collector.missing();
    let ids: Vec<&CaseId> = missing.iter().map(|index| &cases[*index].id).collect();
    pool.run(target, &ids, |index, result| {
        progress(&result);
        collector.add(missing[index], result);
    })?;
    Ok(collector.finish(target, cases))
}

fn not_run(case: &Case) -> CaseResult {
    let detail = "only a Vulkan device can refuse a wrong binding".to_owned();
    CaseResult::new(&case.id, ResultCode::NotRun, Some(detail), None)
}

/// Results, which come in any order.
struct Collector {
    start: Instant,
    results: Vec<Option<CaseResult>>,
    /// Those with matrices: the first ones in the order of cases, whatever order they came in.
    kept: BTreeSet<usize>,
}

impl Collector {
    /// Of `cases` on `target`, with the results of those that it cannot run.
    fn new(target: &Target, cases: &[Case]) -> Self {
        let known = |case: &Case| (!target.can_run(case)).then(|| not_run(case));
        Self::of(cases.iter().map(known).collect())
    }

    fn of(results: Vec<Option<CaseResult>>) -> Self {
        Self { start: Instant::now(), results, kept: BTreeSet::new() }
    }

    /// The cases without a result.
    fn missing(&self) -> Vec<usize> {
        (0..self.results.len()).filter(|index| self.results[*index].is_none()).collect()
    }

    fn add(&mut self, index: usize, result: CaseResult) {
        if result.failure.is_some() {
            self.kept.insert(index);
        }
        self.results[index] = Some(result);
        if self.kept.len() > KEPT_FAILURES
            && let Some(last) = self.kept.pop_last()
            && let Some(result) = &mut self.results[last]
        {
            result.failure = None;
        }
    }

    fn finish(self, target: &Target, cases: &[Case]) -> TargetRun {
        let levels: BTreeSet<FeatureLevel> = cases.iter().map(|case| case.level).collect();
        let levels: Vec<FeatureLevel> = levels.into_iter().collect();
        TargetRun {
            support: target.support(&levels),
            cases: self.results.into_iter().flatten().collect(),
            seconds: self.start.elapsed().as_secs_f64(),
            ..target.run.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::samples;

    #[test]
    fn the_matrices_of_the_first_failures_are_kept_in_any_order() {
        let result = |index: usize| {
            samples::case(&format!("5_1/a/int8/rank1/case_{index}"), ResultCode::Fail)
        };
        let count = KEPT_FAILURES + 50;
        let mut collector = Collector::of(vec![None; count]);
        for index in (0..count).rev() {
            collector.add(index, result(index));
        }
        let kept = |result: &Option<CaseResult>| result.as_ref().unwrap().failure.is_some();
        assert!(collector.results[..KEPT_FAILURES].iter().all(kept));
        assert!(!collector.results[KEPT_FAILURES..].iter().any(kept));
    }
}
