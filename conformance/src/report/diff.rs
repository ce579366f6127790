//! What changed between two runs.

mod text;

use std::collections::HashMap;

use crate::cases::CaseId;
use crate::results::{CaseResult, Counts, ResultCode, Run, TargetRun};

/// What changed between two runs. Its text is for people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diff {
    /// What differs in how they were run: versions, selection, drivers. A line each.
    pub circumstances: Vec<String>,
    /// Targets of both runs.
    pub targets: Vec<TargetDiff>,
    /// Titles of targets that only the first run has.
    pub gone: Vec<String>,
}

/// What changed on one target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetDiff {
    /// The device's name, with the profile's where there is one.
    pub title: String,
    /// Whether the first run does not have it.
    pub is_new: bool,
    /// Counts of the first and of the second run.
    pub counts: [Counts; 2],
    /// Cases that changed, in the order of the second run; those that are gone come last.
    pub changes: Vec<Change>,
}

/// A case that is not as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its name.
    pub id: CaseId,
    /// What that means.
    pub kind: ChangeKind,
    /// How it ended in the first run.
    pub before: Option<ResultCode>,
    /// How it ended in the second run.
    pub after: Option<ResultCode>,
    /// Why it ended so: of the second run, unless the case is gone.
    pub detail: Option<String>,
}

/// What the change of a case means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChangeKind {
    /// It fails, and did not.
    Worse,
    /// It is new, and fails.
    NewFailure,
    /// It does not pass any more, but does not fail.
    Lost,
    /// It failed and does not, or it passes and did not.
    Better,
    /// It ends in another way that is no better and no worse, or for another reason.
    Changed,
    /// It is new, and does not fail.
    New,
    /// The second run does not have it.
    Gone,
}

impl ChangeKind {
    /// All kinds, the gravest first.
    pub const ALL: [Self; 7] = [
        Self::Worse,
        Self::NewFailure,
        Self::Lost,
        Self::Changed,
        Self::Better,
        Self::New,
        Self::Gone,
    ];

    /// Whether the second run is worse by it.
    pub const fn is_worse(self) -> bool {
        matches!(self, Self::Worse | Self::NewFailure)
    }
}

impl Diff {
    /// Compares `b` with the earlier run `a`.
    ///
    /// A target is found again by the names of its device, profile and strategy; the driver may be
    /// another one. Several of the same name are told apart by their order.
    pub fn between(a: &Run, b: &Run) -> Self {
        let mut earlier = keyed(a);
        let mut diff = Self { circumstances: text::of_runs(a, b), ..Self::default() };
        for (key, after) in keyed(b) {
            let place = earlier.iter().position(|(other, _)| *other == key);
            let before = place.map(|index| earlier.remove(index).1);
            if let Some(before) = before {
                diff.circumstances.extend(text::of_targets(before, after));
            }
            diff.targets.push(TargetDiff::between(before, after));
        }
        diff.gone = earlier.into_iter().map(|(_, target)| target.title()).collect();
        diff
    }

    /// Whether a case fails that passed, was excused, or is new.
    pub fn is_worse(&self) -> bool {
        self.changes().any(|change| change.kind.is_worse())
    }

    /// Every case that changed.
    pub fn changes(&self) -> impl Iterator<Item = &Change> {
        self.targets.iter().flat_map(|target| &target.changes)
    }
}

/// What a target is called, and which of those that are called so.
type Key = (String, usize);

fn keyed(run: &Run) -> Vec<(Key, &TargetRun)> {
    let mut seen = HashMap::<_, usize>::new();
    let mut keyed = Vec::new();
    for target in &run.targets {
        let title = target.title();
        let nth = seen.entry(title.clone()).or_default();
        *nth += 1;
        keyed.push(((title, *nth), target));
    }
    keyed
}

impl TargetDiff {
    fn between(before: Option<&TargetRun>, after: &TargetRun) -> Self {
        let earlier_cases = before.map_or(&[][..], |target| &target.cases);
        let mut earlier: HashMap<&CaseId, &CaseResult> =
            earlier_cases.iter().map(|case| (&case.id, case)).collect();
        let mut changes = Vec::new();
        for case in &after.cases {
            changes.extend(Change::between(earlier.remove(&case.id), case));
        }
        let gone = earlier_cases.iter().filter(|case| earlier.contains_key(&case.id));
        changes.extend(gone.map(Change::gone));
        Self {
            title: after.title(),
            is_new: before.is_none(),
            counts: [before.map(TargetRun::total).unwrap_or_default(), after.total()],
            changes,
        }
    }
}

impl Change {
    /// `None` where nothing but the time differs.
    fn between(before: Option<&CaseResult>, after: &CaseResult) -> Option<Self> {
        use ChangeKind::{Better, Changed, Lost, New, NewFailure, Worse};
        let kind = match before.map(|case| (case.result, after.result)) {
            None if after.result.is_failure() => NewFailure,
            None => New,
            Some((a, b)) if a == b => {
                before.filter(|it| !same_reason(it, after)).map(|_| Changed)?
            }
            Some((a, b)) if b.is_failure() && !a.is_failure() => Worse,
            Some((a, b)) if a.is_failure() && !b.is_failure() => Better,
            Some((_, ResultCode::Pass)) => Better,
            Some((ResultCode::Pass, _)) => Lost,
            Some(_) => Changed,
        };
        Some(Self {
            id: after.id.clone(),
            kind,
            before: before.map(|case| case.result),
            after: Some(after.result),
            detail: reason(after),
        })
    }

    fn gone(case: &CaseResult) -> Self {
        Self {
            id: case.id.clone(),
            kind: ChangeKind::Gone,
            before: Some(case.result),
            after: None,
            detail: reason(case),
        }
    }
}

fn same_reason(a: &CaseResult, b: &CaseResult) -> bool {
    a.detail == b.detail && a.expected == b.expected && a.failure == b.failure
}

fn reason(case: &CaseResult) -> Option<String> {
    let expected = case.expected.as_ref().map(|it| &it.reason);
    case.detail.as_ref().or(expected).cloned()
}

#[cfg(test)]
mod tests;
