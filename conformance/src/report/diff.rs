//! The differences between two runs.

mod text;

use std::collections::HashMap;

use crate::cases::CaseId;
use crate::results::block::SignatureAtLevel;
use crate::results::{CaseResult, Passes, ResultCode, Run, TargetRun};

/// The differences between two runs. Their text is for people.
#[derive(Clone, Debug)]
pub struct Diff<'a> {
    /// The two runs.
    runs: [&'a Run; 2],
    /// The differences on the targets of the second run.
    targets: Vec<TargetDiff<'a>>,
    /// Targets that only the first run has.
    gone: Vec<&'a TargetRun>,
}

/// The differences on one target.
#[derive(Clone, Debug)]
struct TargetDiff<'a> {
    /// The target in the first run, if that has it.
    before: Option<&'a TargetRun>,
    after: &'a TargetRun,
    /// Cases that changed and did not pass in both runs, in the order of the second run; those that are gone
    /// or pass now come last.
    changes: Vec<Change<'a>>,
    /// The number of new cases that pass. Reports only count cases that passed, so their ids are not known.
    new_passes: u64,
    /// The number of cases that passed and are gone.
    gone_passes: u64,
}

/// A case whose result changed.
#[derive(Clone, Debug)]
struct Change<'a> {
    kind: ChangeKind,
    /// The result codes in the two runs; `None` if a run does not have the case.
    ends: [Option<ResultCode>; 2],
    /// The result in the second run, or else in the first one.
    case: &'a CaseResult,
}

/// The kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum ChangeKind {
    /// The case fails, and did not fail before.
    Worse,
    /// The case is new, and fails.
    NewFailure,
    /// The case does not pass any more, but does not fail.
    Lost,
    /// The case failed and does not fail any more, or it passes and did not before.
    Better,
    /// The case ends in another way that is neither better nor worse, or for another reason.
    Changed,
    /// The case is new, and does not fail.
    New,
    /// The second run does not have the case.
    Gone,
}

impl ChangeKind {
    /// All kinds, the worst first.
    const ALL: [Self; 7] = [
        Self::Worse,
        Self::NewFailure,
        Self::Lost,
        Self::Changed,
        Self::Better,
        Self::New,
        Self::Gone,
    ];

    /// Whether the change makes the second run worse.
    const fn is_worse(self) -> bool {
        matches!(self, Self::Worse | Self::NewFailure)
    }
}

impl<'a> Diff<'a> {
    /// Compares `b` with the earlier run `a`.
    ///
    /// Targets are matched by the names of their device, profile and strategy; their drivers may differ.
    /// Several targets of the same name are matched by their order.
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
        ChangeKind::ALL.into_iter().any(|kind| kind.is_worse() && self.number(kind) > 0)
    }

    /// The number of cases with this kind of change.
    fn number(&self, kind: ChangeKind) -> u64 {
        self.targets.iter().map(|target| target.number(kind)).sum()
    }
}

impl<'a> TargetDiff<'a> {
    fn between(before: Option<&'a TargetRun>, after: &'a TargetRun) -> Self {
        let listed = before.map_or(&[][..], |target| &target.cases);
        let passes = Passed::new(before, after);
        let mut earlier: HashMap<&CaseId, &CaseResult> =
            listed.iter().map(|case| (&case.id, case)).collect();
        let mut changes = Vec::new();
        for case in &after.cases {
            let before = earlier.remove(&case.id);
            let was = before.map(|it| it.result).or_else(|| passes.unlisted(&case.id, 0));
            let same = before.is_some_and(|before| same_reason(before, case));
            changes.extend(Change::new(case, [was, Some(case.result)], same));
        }
        for case in listed.iter().filter(|case| earlier.contains_key(&case.id)) {
            let ends = [Some(case.result), passes.unlisted(&case.id, 1)];
            changes.extend(Change::new(case, ends, false));
        }
        let [gone_passes, new_passes] = passes.gone_and_new(&changes);
        Self { before, after, changes, new_passes, gone_passes }
    }

    /// The number of cases with this kind of change.
    fn number(&self, kind: ChangeKind) -> u64 {
        let listed = self.changes.iter().filter(|change| change.kind == kind).count() as u64;
        match kind {
            ChangeKind::New => listed + self.new_passes,
            ChangeKind::Gone => listed + self.gone_passes,
            _ => listed,
        }
    }
}

/// The number of cases that passed in each of two runs, by operator and place.
struct Passed(HashMap<(String, SignatureAtLevel), [u64; 2]>);

impl Passed {
    fn new(before: Option<&TargetRun>, after: &TargetRun) -> Self {
        let mut places = HashMap::<_, [u64; 2]>::new();
        for (run, target) in [before, Some(after)].into_iter().enumerate() {
            for Passes { operator, at, cases, .. } in target.iter().flat_map(|it| &it.passes) {
                for level in at.levels() {
                    for signature in at.signatures() {
                        let key = (operator.to_lowercase(), (*level, signature));
                        places.entry(key).or_default()[run] += cases;
                    }
                }
            }
        }
        Self(places)
    }

    fn key(id: &CaseId) -> (String, SignatureAtLevel) {
        (id.operator.clone(), (id.level, id.signature.clone()))
    }

    /// The result of a case that one of the two runs does not list: it passed there if any case of its
    /// operator, level, types and rank did.
    fn unlisted(&self, id: &CaseId, run: usize) -> Option<ResultCode> {
        let passed = self.0.get(&Self::key(id))?[run];
        (passed > 0).then_some(ResultCode::Pass)
    }

    /// The number of passing cases that only the first run has, and of those that only the second one has. If
    /// a place has some of both, the difference.
    fn gone_and_new(mut self, changes: &[Change<'_>]) -> [u64; 2] {
        for change in changes {
            let passed = change.ends.map(|end| end == Some(ResultCode::Pass));
            if let Some(counts) = self.0.get_mut(&Self::key(&change.case.id)) {
                // Cases that the other run lists are neither gone nor new.
                for (count, passed) in counts.iter_mut().zip(passed) {
                    *count = count.saturating_sub(u64::from(passed));
                }
            }
        }
        let counts = || self.0.values();
        let gone = counts().map(|[before, after]| before.saturating_sub(*after)).sum();
        [gone, counts().map(|[before, after]| after.saturating_sub(*before)).sum()]
    }
}

impl<'a> Change<'a> {
    /// The change of a case with these result codes; `None` if only the time differs, with the `same` reason.
    fn new(case: &'a CaseResult, ends: [Option<ResultCode>; 2], same: bool) -> Option<Self> {
        use ChangeKind::{Better, Changed, Gone, Lost, New, NewFailure, Worse};
        let kind = match ends {
            [_, None] => Gone,
            [None, Some(after)] if after.is_failure() => NewFailure,
            [None, Some(_)] => New,
            [Some(a), Some(b)] if a == b => (!same).then_some(Changed)?,
            [Some(a), Some(b)] if b.is_failure() && !a.is_failure() => Worse,
            [Some(a), Some(b)] if a.is_failure() && !b.is_failure() => Better,
            [Some(_), Some(ResultCode::Pass)] => Better,
            [Some(ResultCode::Pass), Some(_)] => Lost,
            [Some(_), Some(_)] => Changed,
        };
        Some(Self { kind, ends, case })
    }
}

fn same_reason(a: &CaseResult, b: &CaseResult) -> bool {
    a.detail == b.detail && a.expected == b.expected && a.failure == b.failure
}

#[cfg(test)]
mod tests;
