//! Runs cases on a target and puts the results together.
//!
//! Plans do not depend on the level, so a case that several levels accept is executed once, at the first of
//! them that is run; the others validate the operator and share the result.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context as _;
use dml::{DataType, FeatureLevel};
use dml_reference::Signature;

use crate::cases::{Case, CaseId, Finder, Kind, Listed, Listing};
use crate::execute::{Details, Lowering, Runtime, run};
use crate::outcomes::{End, Outcomes};
use crate::parallel;
use crate::pool::{Pool, Work};
use crate::protocol::{Reply, Request};
use crate::results::errors::Largest;
use crate::results::kernels::KernelTally;
use crate::results::{CaseResult, ResultCode, TargetRun};
use crate::target::Target;

/// The number of failures of a target whose matrices are kept, so that a device that does everything wrong
/// does not fill the disk.
const KEPT_FAILURES: usize = 200;

/// Runs those of `cases` that `target` can run in this process, and calls `progress` after each; the others
/// are reported as not run. With a `lowering` its plans are executed, otherwise the runtime's.
///
/// # Errors
/// The target cannot be opened.
pub fn run_in_process(
    target: &Target,
    cases: &Listing,
    lowering: Option<&dyn Lowering>,
    details: Details,
    mut progress: impl FnMut(&CaseResult),
) -> anyhow::Result<Outcomes> {
    let mut executor = target.open(lowering)?;
    let mut collector = Collector::new(target, cases);
    let mut finder = Finder::default();
    for index in collector.missing() {
        let result = run(&*found(&cases[index], &mut finder)?, &*executor, details);
        progress(&result);
        collector.add(index, result);
        if executor.is_lost() {
            executor = target.open(lowering)?;
        }
    }
    collector.share(cases, lowering.unwrap_or(&Runtime), progress)?;
    Ok(collector.finish(target, cases))
}

/// Runs those of `cases` that `target` can run in worker processes, and calls `progress` after each; the
/// others are reported as not run. Results are in the order of `cases`, for any number of workers.
///
/// # Errors
/// A worker cannot be started or cannot open the target.
pub(crate) fn run_isolated(
    target: &Target,
    cases: &Listing,
    pool: &Pool,
    details: Details,
    mut progress: impl FnMut(&CaseResult),
) -> anyhow::Result<Outcomes> {
    let mut collector = Collector::new(target, cases);
    let mut missing = collector.missing();
    missing.sort_by_key(|index| pipelines(&cases[*index].id));
    let ids: Vec<&CaseId> = missing.iter().map(|index| &cases[*index].id).collect();
    let ran = pool.run(&Cases { target, details }, &ids, |index, result| {
        progress(&result);
        collector.add(missing[index], result);
    });
    ran.with_context(|| target.title())?;
    collector.share(cases, &Runtime, progress)?;
    Ok(collector.finish(target, cases))
}

/// The cases of operators for workers.
struct Cases<'a> {
    target: &'a Target,
    details: Details,
}

impl Work for Cases<'_> {
    type Case = CaseId;
    type Result = CaseResult;

    fn request(&self) -> Request {
        Request::Open { target: Box::new(self.target.clone()), details: self.details }
    }

    fn are_together(&self, first: &CaseId, second: &CaseId) -> bool {
        pipelines(first) == pipelines(second)
    }

    fn result(&self, id: &CaseId, reply: Reply) -> Option<(CaseResult, bool)> {
        match reply {
            Reply::Finished { case, is_last } if case.id == *id => Some((*case, is_last)),
            _ => None,
        }
    }

    fn without_answer(
        &self,
        id: &CaseId,
        code: ResultCode,
        detail: String,
        start: Instant,
    ) -> CaseResult {
        CaseResult::new(id, code, Some(detail), Some(start))
    }
}

/// The operator and the types, which determine most pipelines of a case.
fn pipelines(id: &CaseId) -> (&str, &[DataType]) {
    (&id.operator, &id.signature.types)
}

fn found<'a>(case: &'a Listed, finder: &mut Finder) -> anyhow::Result<Cow<'a, Case>> {
    case.case(finder).with_context(|| format!("there is no case {}", case.id))
}

fn not_run(case: &Listed) -> CaseResult {
    let detail = "only a Vulkan device can refuse a wrong binding".to_owned();
    CaseResult::new(&case.id, ResultCode::NotRun, Some(detail), None)
}

/// The key of cases of several levels that are executed in the same way; `None` for refusals.
fn execution(case: &Listed) -> Option<(&str, &Signature, &str)> {
    let CaseId { operator, signature, name, .. } = &case.id;
    (case.kind != Kind::Refusal).then_some((operator, signature, name))
}

/// For each case, an earlier case that is executed in the same way.
fn executed_before(cases: &[Listed]) -> Vec<Option<u32>> {
    let mut first = HashMap::new();
    let before = |(index, case)| {
        let index = u32::try_from(index).ok()?;
        let found = *first.entry(execution(case)?).or_insert(index);
        (found != index).then_some(found)
    };
    cases.iter().enumerate().map(before).collect()
}

/// A case, and the one whose result it shares.
struct Sharing {
    index: usize,
    executed: usize,
}

/// Collects results, which arrive in any order.
struct Collector {
    start: Instant,
    results: Vec<Option<End>>,
    /// For each case, the case whose result it shares.
    shared: Vec<Option<u32>>,
    /// Results with matrices: the first ones in the order of cases, in whatever order they arrived.
    kept: BTreeSet<usize>,
    largest: Largest,
    kernels: KernelTally,
}

impl Collector {
    /// A collector for `cases` on `target`, with the results of those that it cannot run.
    fn new(target: &Target, cases: &[Listed]) -> Self {
        let known = |case: &Listed| (!target.can_run(case.kind)).then(|| not_run(case).into());
        let results = cases.iter().map(known).collect();
        Self { shared: executed_before(cases), ..Self::of(results) }
    }

    fn of(results: Vec<Option<End>>) -> Self {
        Self {
            start: Instant::now(),
            shared: vec![None; results.len()],
            results,
            kept: BTreeSet::new(),
            largest: Largest::default(),
            kernels: KernelTally::default(),
        }
    }

    /// The cases that have no result, and will not share one.
    fn missing(&self) -> Vec<usize> {
        let is_missing = |index: &usize| self.results[*index].is_none();
        (0..self.results.len()).filter(|it| is_missing(it) && self.shared[*it].is_none()).collect()
    }

    /// Gives the results of executed cases to the cases of other levels, if those accept the operator.
    fn share(
        &mut self,
        cases: &[Listed],
        lowering: &dyn Lowering,
        mut progress: impl FnMut(&CaseResult),
    ) -> anyhow::Result<()> {
        let sharing = |index: usize| {
            let executed = self.shared[index].filter(|_| self.results[index].is_none())?;
            Some(Sharing { index, executed: executed as usize })
        };
        let sharing: Vec<Sharing> = (0..cases.len()).filter_map(sharing).collect();
        let cell = |it: &Sharing| (cases[it.index].id.level, pipelines(&cases[it.index].id));
        let cells: Vec<&[Sharing]> =
            sharing.chunk_by(|first, second| cell(first) == cell(second)).collect();
        let validated = parallel::map(&cells, |cell| {
            let mut finder = Finder::default();
            let validated = cell.iter().map(|it| {
                let case = found(&cases[it.index], &mut finder)?;
                Ok(lowering.validate(&case.operator, case.level).map(|_| ()))
            });
            validated.collect::<anyhow::Result<Vec<_>>>()
        });
        for (cell, validated) in cells.into_iter().zip(validated) {
            for (it, validated) in cell.iter().zip(validated?) {
                let id = &cases[it.index].id;
                let Some(executed) = &self.results[it.executed] else { continue };
                let result = match validated {
                    Ok(()) => CaseResult { failure: None, microseconds: 0, ..executed.result(id) },
                    Err(error) => {
                        let detail = format!("refused, but it must be accepted: {error}");
                        CaseResult::new(id, ResultCode::Fail, Some(detail), None)
                    }
                };
                progress(&result);
                self.add(it.index, result);
            }
        }
        Ok(())
    }

    fn add(&mut self, index: usize, mut result: CaseResult) {
        self.largest.take(&mut result);
        self.kernels.take(&mut result);
        if result.failure.is_some() {
            self.kept.insert(index);
        }
        self.results[index] = Some(result.into());
        if self.kept.len() > KEPT_FAILURES
            && let Some(last) = self.kept.pop_last()
            && let Some(End::Other(result)) = &mut self.results[last]
        {
            result.failure = None;
        }
    }

    fn finish(self, target: &Target, cases: &Listing) -> Outcomes {
        let levels: BTreeSet<FeatureLevel> = cases.iter().map(|case| case.id.level).collect();
        let levels: Vec<FeatureLevel> = levels.into_iter().collect();
        let target = TargetRun {
            support: target.support(&levels),
            errors: self.largest.finish(),
            kernels: Some(self.kernels.finish()),
            required: with_outputs(cases),
            seconds: self.start.elapsed().as_secs_f64(),
            ..target.run.clone()
        };
        Outcomes::new(target, Arc::clone(cases), self.results.into_iter().flatten())
    }
}

/// The names of the operators that have cases with outputs.
fn with_outputs(cases: &[Listed]) -> Vec<String> {
    let cases = cases.iter().filter(|case| case.kind == Kind::Outputs);
    let operators: BTreeSet<&str> = cases.map(|case| &*case.id.operator).collect();
    operators.into_iter().map(str::to_uppercase).collect()
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
        let mut collector = Collector::of((0..count).map(|_| None).collect());
        for index in (0..count).rev() {
            collector.add(index, result(index));
        }
        let kept = |end: &Option<End>| match end {
            Some(End::Other(result)) => result.failure.is_some(),
            other => panic!("{other:?}"),
        };
        assert!(collector.results[..KEPT_FAILURES].iter().all(kept));
        assert!(!collector.results[KEPT_FAILURES..].iter().any(kept));
    }
}
