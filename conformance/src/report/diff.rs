//! What changed between two runs.

mod text;

use std::collections::HashMap;

use crate::cases::CaseId;
use crate::results::{CaseResult, ResultCode, Run, TargetRun};

/// What changed between two runs. Its text is for people.
#[derive(Clone, Debug)]
pub struct Diff<'a> {
    /// The two runs.
    runs: [&'a Run; 2],
    /// What changed on the targets of the second run.
    targets: Vec<TargetDiff<'a>>,
    /// Targets that only the first run has.
    gone: Vec<&'a TargetRun>,
}

/// What changed on one target.
#[derive(Clone, Debug)]
struct TargetDiff<'a> {
    /// The target in the first run, if it is there.
    before: Option<&'a TargetRun>,
    after: &'a TargetRun,
    /// Cases that changed, in the order of the second run; those that are gone come last.
    changes: Vec<Change<'a>>,
}

/// A case that is not as it was, in the two runs.
#[derive(Clone, Debug)]
struct Change<'a> {
    kind: ChangeKind,
    before: Option<&'a CaseResult>,
    after: Option<&'a CaseResult>,
}

/// What the change of a case means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum ChangeKind {
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
    const ALL: [Self; 7] = [
        Self::Worse,
        Self::NewFailure,
        Self::Lost,
        Self::Changed,
        Self::Better,
        Self::New,
        Self::Gone,
    ];

    /// Whether the second run is worse by it.
    const fn is_worse(self) -> bool {
        matches!(self, Self::Worse | Self::NewFailure)
    }
}

impl<'a> Diff<'a> {
    /// Compares `b` with the earlier run `a`.
    ///
    /// A target is found again by the names of its device, profile and strategy; the driver may be
    /// another one. Several of the same name are told apart by their order.
    pub fn between(a: &'a Run, b: &'a Run) -> Self {
        let mut gone: Vec<&TargetRun> = a.targets.iter().collect();
        let target = |after: &'a TargetRun| {
            let place = gone.iter().position(|before| before.title() == after.title());
            TargetDiff::between(place.map(|index| gone.remove(index)), after)
        };
        let targets = b.targets.iter().map(target).collect();
        Self { runs: [a, b], targets, gone }
    }

    /// Whether a case fails that passed, was excused, or is new.
    pub fn is_worse(&self) -> bool {
        self.changes().any(|change| change.kind.is_worse())
    }

    fn changes(&self) -> impl Iterator<Item = &Change<'a>> {
        self.targets.iter().flat_map(|target| &target.changes)
    }
}

impl<'a> TargetDiff<'a> {
    fn between(before: Option<&'a TargetRun>, after: &'a TargetRun) -> Self {
        let earlier_cases = before.map_or(&[][..], |target| &target.cases);
        let mut earlier: HashMap<&CaseId, &CaseResult> =
            earlier_cases.iter().map(|case| (&case.id, case)).collect();
        let mut changes = Vec::new();
        for case in &after.cases {
            changes.extend(Change::between(earlier.remove(&case.id), case));
        }
        let gone = earlier_cases.iter().filter(|case| earlier.contains_key(&case.id));
        changes.extend(gone.map(|case| Change {
            kind: ChangeKind::Gone,
            before: Some(case),
            after: None,
        }));
        Self { before, after, changes }
    }
}

impl<'a> Change<'a> {
    /// `None` where nothing but the time differs.
    fn between(before: Option<&'a CaseResult>, after: &'a CaseResult) -> Option<Self> {
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
        Some(Self { kind, before, after: Some(after) })
    }
}

fn same_reason(a: &CaseResult, b: &CaseResult) -> bool {
    a.detail == b.detail && a.expected == b.expected && a.failure == b.failure
}

#[cfg(test)]
mod tests;
