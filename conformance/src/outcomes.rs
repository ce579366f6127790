//! The outcomes of a list of cases on a target. Cases that passed are stored compactly until the report, so
//! that a million of them fit into little memory.

use crate::cases::{CaseId, Listed, Listing};
use crate::results::tally::Tally;
use crate::results::{CaseResult, Execution, ResultCode, TargetRun};

/// The outcomes of a list of cases on a target, in the order of the list.
#[derive(Clone, Debug)]
pub struct Outcomes {
    target: TargetRun,
    listing: Listing,
    ends: Vec<End>,
}

/// The outcome of a case.
#[derive(Clone, Debug)]
pub(crate) enum End {
    /// The case passed, without further details.
    Passed { execution: Execution, microseconds: u32, digest: Option<u64> },
    /// Any other outcome.
    Other(Box<CaseResult>),
}

impl Outcomes {
    /// The outcomes on `target`, with one for each case.
    pub(crate) fn new(
        target: TargetRun,
        listing: Listing,
        ends: impl IntoIterator<Item = End>,
    ) -> Self {
        let ends: Vec<End> = ends.into_iter().collect();
        debug_assert_eq!(ends.len(), listing.len());
        Self { target, listing, ends }
    }

    /// The outcomes on `target`, from results of cases that are only known by id.
    #[cfg(test)]
    pub(crate) fn of(target: TargetRun, results: impl IntoIterator<Item = CaseResult>) -> Self {
        let results: Vec<CaseResult> = results.into_iter().collect();
        let listing = results.iter().map(|result| Listed::unknown(result.id.clone())).collect();
        Self::new(target, listing, results.into_iter().map(End::from))
    }

    /// The target, without results.
    pub fn target(&self) -> &TargetRun {
        &self.target
    }

    /// The cases.
    pub fn listing(&self) -> &[Listed] {
        &self.listing
    }

    /// The result code of each case.
    pub fn results(&self) -> impl Iterator<Item = (&CaseId, ResultCode)> {
        let code = |end: &End| match end {
            End::Passed { .. } => ResultCode::Pass,
            End::Other(result) => result.result,
        };
        self.listing.iter().zip(&self.ends).map(move |(case, end)| (&case.id, code(end)))
    }

    /// The result of a case, unless it passed.
    pub fn problem(&self, index: usize) -> Option<&CaseResult> {
        match self.ends.get(index)? {
            End::Passed { .. } => None,
            End::Other(result) => Some(result),
        }
    }

    /// The result of a case.
    ///
    /// # Panics
    /// There is no case with this index.
    pub fn result(&self, index: usize) -> CaseResult {
        self.ends[index].result(&self.listing[index].id)
    }

    /// Each case, with the digest of its results if it passed and has results.
    pub(crate) fn passed(&self) -> impl Iterator<Item = (&Listed, Option<u64>)> {
        self.listing.iter().zip(self.ends.iter().map(|end| match end {
            End::Passed { digest, .. } => *digest,
            End::Other(_) => None,
        }))
    }

    /// Replaces the results for which `change` returns another one.
    pub(crate) fn change(&mut self, mut change: impl FnMut(&CaseResult) -> Option<CaseResult>) {
        for index in 0..self.ends.len() {
            self.change_one(index, &mut change);
        }
    }

    /// Replaces the result of one case if `change` returns another one.
    pub(crate) fn change_one(
        &mut self,
        index: usize,
        change: impl FnOnce(&CaseResult) -> Option<CaseResult>,
    ) {
        let end = &mut self.ends[index];
        if let Some(result) = change(&end.result(&self.listing[index].id)) {
            *end = result.into();
        }
    }

    /// The data for a report.
    pub fn into_run(self) -> TargetRun {
        let Self { mut target, listing, ends } = self;
        let mut tally = Tally::default();
        for (case, end) in listing.iter().zip(ends) {
            match end {
                End::Passed { execution, microseconds, .. } => {
                    tally.passed(&case.id, execution, microseconds.into());
                }
                End::Other(result) => tally.add(*result),
            }
        }
        tally.finish(&mut target);
        target
    }
}

impl End {
    /// The result of the case with this id.
    pub(crate) fn result(&self, id: &CaseId) -> CaseResult {
        match self {
            Self::Passed { execution, microseconds, digest } => CaseResult {
                executed: *execution != Execution::NotExecuted,
                dispatched: *execution == Execution::Dispatched,
                microseconds: (*microseconds).into(),
                digest: *digest,
                ..CaseResult::new(id, ResultCode::Pass, None, None)
            },
            Self::Other(result) => CaseResult { id: id.clone(), ..CaseResult::clone(result) },
        }
    }
}

impl From<CaseResult> for End {
    fn from(result: CaseResult) -> Self {
        let is_all = result.detail.is_none() && result.failure.is_none();
        if result.result == ResultCode::Pass && is_all {
            let (execution, digest) = (result.execution(), result.digest);
            let microseconds = u32::try_from(result.microseconds).unwrap_or(u32::MAX);
            Self::Passed { execution, microseconds, digest }
        } else {
            Self::Other(Box::new(result))
        }
    }
}
