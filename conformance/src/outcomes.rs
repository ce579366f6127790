//! What a target did with each of a list of cases: of those that passed no more than is asked for until
//! the report, so that a million of them fit into little memory.

use crate::cases::{CaseId, Listed, Listing};
use crate::results::tally::Tally;
use crate::results::{CaseResult, Execution, ResultCode, TargetRun};

/// What a target did with each of a list of cases, in its order.
#[derive(Clone, Debug)]
pub struct Outcomes {
    target: TargetRun,
    listing: Listing,
    ends: Vec<End>,
}

/// How a case ended.
#[derive(Clone, Debug)]
pub(crate) enum End {
    /// It passed, and there is nothing else to say.
    Passed { execution: Execution, microseconds: u32, digest: Option<u64> },
    /// In any other way.
    Other(Box<CaseResult>),
}

impl Outcomes {
    /// On `target`, with one result for each case.
    pub(crate) fn new(
        target: TargetRun,
        listing: Listing,
        ends: impl IntoIterator<Item = End>,
    ) -> Self {
        let ends: Vec<End> = ends.into_iter().collect();
        debug_assert_eq!(ends.len(), listing.len());
        Self { target, listing, ends }
    }

    /// On `target`, from results of cases that are nothing but their names.
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

    /// How each case ended.
    pub fn results(&self) -> impl Iterator<Item = (&CaseId, ResultCode)> {
        let code = |end: &End| match end {
            End::Passed { .. } => ResultCode::Pass,
            End::Other(result) => result.result,
        };
        self.listing.iter().zip(&self.ends).map(move |(case, end)| (&case.id, code(end)))
    }

    /// How a case ended, unless it passed.
    pub fn problem(&self, index: usize) -> Option<&CaseResult> {
        match self.ends.get(index)? {
            End::Passed { .. } => None,
            End::Other(result) => Some(result),
        }
    }

    /// How a case ended.
    ///
    /// # Panics
    /// There is no case of this index.
    pub fn result(&self, index: usize) -> CaseResult {
        self.ends[index].result(&self.listing[index].id)
    }

    /// What stands for the results of each case that passed and has some.
    pub(crate) fn digests(&self) -> impl Iterator<Item = Option<u64>> {
        self.ends.iter().map(|end| match end {
            End::Passed { digest, .. } => *digest,
            End::Other(_) => None,
        })
    }

    /// Replaces the results that `change` has others for.
    pub(crate) fn change(&mut self, mut change: impl FnMut(&CaseResult) -> Option<CaseResult>) {
        for index in 0..self.ends.len() {
            self.change_one(index, &mut change);
        }
    }

    /// Replaces the result of one case if `change` has another one.
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

    /// What a report has of them.
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
    /// As the result of the case with this name.
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
