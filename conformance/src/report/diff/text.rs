//! Differences in words.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::{Change, ChangeKind, Diff, TargetDiff};
use crate::report::text::{count, one_line, thousands};
use crate::results::{Counts, ResultCode, Run, TargetRun};

/// Cases of one kind beyond this many are counted, not printed.
const PRINTED_CASES: usize = 20;

/// What differs in how two runs were made.
pub(super) fn of_runs(a: &Run, b: &Run) -> Vec<String> {
    let versions = (a.conformance_version.clone(), b.conformance_version.clone());
    let requests = (a.request(), b.request());
    [("conformance version", versions), ("selection", requests)]
        .into_iter()
        .filter_map(|(what, (a, b))| changed(what, &a, &b))
        .collect()
}

/// What differs in what one target ran on, its features and limits last.
pub(super) fn of_targets(a: &TargetRun, b: &TargetRun) -> Vec<String> {
    let [before, after] = [facts(a), facts(b)];
    let all: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    let text = |facts: &BTreeMap<_, String>, fact| facts.get(fact).cloned().unwrap_or_default();
    all.into_iter()
        .filter_map(|fact| changed(fact.1, &text(&before, fact), &text(&after, fact)))
        .map(|line| format!("{}: {line}", b.title()))
        .collect()
}

/// What a target ran on, by order and name.
fn facts(target: &TargetRun) -> BTreeMap<(usize, &str), String> {
    let TargetRun { device, features, limits, .. } = target;
    let validation = if target.validation { "on" } else { "off" };
    let device = [
        ("driver", device.driver()),
        ("driver version", device.driver_version.to_string()),
        ("Vulkan", device.api_version.clone()),
        ("UUID", device.uuid.clone()),
        ("validation", validation.to_owned()),
    ];
    let last = device.len();
    let features = features.iter().map(|(name, has)| ((last, name.as_str()), has.to_string()));
    let limits = limits.iter().map(|(name, value)| ((last, name.as_str()), value.to_string()));
    let device = device.into_iter().enumerate().map(|(order, (name, it))| ((order, name), it));
    device.chain(features).chain(limits).collect()
}

fn changed(what: &str, a: &str, b: &str) -> Option<String> {
    let quoted = |text: &str| if text.is_empty() { "none".to_owned() } else { text.to_owned() };
    (a != b).then(|| format!("{what}: {} -> {}", quoted(a), quoted(b)))
}

impl ChangeKind {
    fn heading(self) -> &'static str {
        match self {
            Self::Worse => "worse",
            Self::NewFailure => "new and failing",
            Self::Lost => "not passing any more",
            Self::Changed => "changed",
            Self::Better => "better",
            Self::New => "new",
            Self::Gone => "gone",
        }
    }
}

impl fmt::Display for Diff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.circumstances {
            writeln!(f, "{}", one_line(line))?;
        }
        for target in self.targets.iter().filter(|it| it.is_new || !it.changes.is_empty()) {
            writeln!(f)?;
            target.fmt(f)?;
        }
        for title in &self.gone {
            writeln!(f, "\n{}: only in the first run", one_line(title))?;
        }
        let quiet = self.targets.iter().filter(|it| !it.is_new && it.changes.is_empty()).count();
        if quiet > 0 {
            writeln!(f, "\nno change on {}", count(quiet as u64, "target"))?;
        }
        let happened = ChangeKind::ALL.into_iter().filter_map(|kind| {
            let number = self.changes().filter(|change| change.kind == kind).count();
            (number > 0).then(|| format!("{} {}", thousands(number as u64), kind.heading()))
        });
        let counts: Vec<String> = happened.collect();
        let verdict = if self.is_worse() { "worse" } else { "not worse" };
        let counts = if counts.is_empty() { "no change".to_owned() } else { counts.join(", ") };
        writeln!(f, "\n{verdict}: {counts}")
    }
}

impl fmt::Display for TargetDiff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let note = if self.is_new { ": only in the second run" } else { "" };
        writeln!(f, "{}{note}", one_line(&self.title))?;
        let [before, after] = self.counts;
        if !self.is_new && before.verdict() != after.verdict() {
            write!(f, "  {} -> {}: ", before.verdict(), after.verdict())?;
        } else {
            write!(f, "  {}: ", after.verdict())?;
        }
        writeln!(f, "{}", totals(self.counts))?;
        for kind in ChangeKind::ALL {
            self.write_kind(f, kind)?;
        }
        Ok(())
    }
}

impl TargetDiff {
    fn write_kind(&self, f: &mut fmt::Formatter<'_>, kind: ChangeKind) -> fmt::Result {
        let changes = || self.changes.iter().filter(|change| change.kind == kind);
        let all = changes().count();
        if all == 0 {
            return Ok(());
        }
        writeln!(f, "  {}: {}", kind.heading(), count(all as u64, "case"))?;
        // Whole targets come and go with all their cases; what passes among them is no news.
        let dull = |change: &Change| {
            let result = change.before.xor(change.after);
            result == Some(ResultCode::Pass)
        };
        let listed: Vec<_> = changes().filter(|change| !dull(change)).collect();
        for change in listed.iter().take(PRINTED_CASES) {
            writeln!(f, "    {change}")?;
        }
        if listed.len() > PRINTED_CASES {
            writeln!(f, "    and {} more", thousands((listed.len() - PRINTED_CASES) as u64))?;
        }
        Ok(())
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.id)?;
        match (self.before, self.after) {
            (Some(a), Some(b)) if a != b => write!(f, "{} -> {}", a.name(), b.name())?,
            (Some(a), None) => write!(f, "was {}", a.name())?,
            (_, Some(b)) => f.write_str(b.name())?,
            (None, None) => {}
        }
        match &self.detail {
            Some(detail) => write!(f, ": {}", one_line(detail)),
            None => Ok(()),
        }
    }
}

/// How many cases ended in which way, before and after: `fail 0 -> 3`.
fn totals([a, b]: [Counts; 2]) -> String {
    let codes = ResultCode::ALL.into_iter().filter(|code| a.of(*code) + b.of(*code) > 0);
    let parts = codes.map(|code| match (a.of(code), b.of(code)) {
        (a, b) if a == b => format!("{} {}", code.name(), thousands(a)),
        (a, b) => format!("{} {} -> {}", code.name(), thousands(a), thousands(b)),
    });
    parts.collect::<Vec<_>>().join(", ")
}
