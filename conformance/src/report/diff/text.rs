//! The text of differences.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::{Change, ChangeKind, Diff, TargetDiff};
use crate::report::text::{count, on_or_off, one_line, thousands};
use crate::results::{Counts, ResultCode, TargetRun};

/// The largest number of cases of one kind that are printed; others are counted.
const PRINTED_CASES: usize = 20;

/// The differences in how the two runs were made, one in each line.
fn circumstances(diff: &Diff<'_>) -> Vec<String> {
    let [a, b] = diff.runs;
    let version = changed("conformance version", &a.conformance_version, &b.conformance_version);
    let mut lines: Vec<String> = version.into_iter().collect();
    lines.extend(changed("selection", &a.request(), &b.request()));
    let both =
        diff.targets.iter().filter_map(|target| Some(of_targets(target.before?, target.after)));
    lines.extend(both.flatten());
    lines
}

/// The differences of one target's surroundings, its features and limits last.
fn of_targets(a: &TargetRun, b: &TargetRun) -> Vec<String> {
    let [before, after] = [facts(a), facts(b)];
    let all: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    let text = |facts: &BTreeMap<_, String>, fact| facts.get(fact).cloned().unwrap_or_default();
    all.into_iter()
        .filter_map(|fact| changed(fact.1, &text(&before, fact), &text(&after, fact)))
        .map(|line| format!("{}: {line}", b.title()))
        .collect()
}

/// The surroundings of a target, by order and name.
fn facts(target: &TargetRun) -> BTreeMap<(usize, &str), String> {
    let TargetRun { device, features, limits, .. } = target;
    let device = [
        ("driver", device.driver()),
        ("driver version", device.driver_version.to_string()),
        ("Vulkan", device.api_version.clone()),
        ("UUID", device.uuid.clone()),
        ("numerics", target.numerics.to_string()),
        ("validation", on_or_off(target.validation).to_owned()),
        ("robust access", target.robust_access.map_or("", on_or_off).to_owned()),
        ("staged transfers", on_or_off(target.staged_transfers).to_owned()),
        ("work bound", target.work_bound.map_or(String::new(), |bound| bound.to_string())),
        ("sample", target.sample.clone().unwrap_or_default()),
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

impl fmt::Display for Diff<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in circumstances(self) {
            writeln!(f, "{}", one_line(&line))?;
        }
        let (quiet, changed): (Vec<_>, Vec<_>) =
            self.targets.iter().partition(|target| target.before.is_some() && target.is_quiet());
        for target in changed {
            write!(f, "\n{target}")?;
        }
        for target in &self.gone {
            writeln!(f, "\n{}: only in the first run", one_line(&target.title()))?;
        }
        if !quiet.is_empty() {
            writeln!(f, "\nno change on {}", count(quiet.len() as u64, "target"))?;
        }
        let happened = ChangeKind::ALL.into_iter().filter_map(|kind| {
            let number = self.number(kind);
            (number > 0).then(|| format!("{} {}", thousands(number), kind.heading()))
        });
        let counts: Vec<String> = happened.collect();
        let verdict = if self.is_worse() { "worse" } else { "not worse" };
        let counts = if counts.is_empty() { "no change".to_owned() } else { counts.join(", ") };
        writeln!(f, "\n{verdict}: {counts}")
    }
}

impl fmt::Display for TargetDiff<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let note = if self.before.is_none() { ": only in the second run" } else { "" };
        writeln!(f, "{}{note}", one_line(&self.after.title()))?;
        let before = self.before.map(TargetRun::total);
        let after = self.after.total();
        match before {
            Some(before) if before.verdict() != after.verdict() => {
                write!(f, "  {} -> {}: ", before.verdict(), after.verdict())?;
            }
            _ => write!(f, "  {}: ", after.verdict())?,
        }
        writeln!(f, "{}", totals(before.unwrap_or_default(), after))?;
        for kind in ChangeKind::ALL {
            self.write_kind(f, kind)?;
        }
        Ok(())
    }
}

impl TargetDiff<'_> {
    fn is_quiet(&self) -> bool {
        ChangeKind::ALL.into_iter().all(|kind| self.number(kind) == 0)
    }

    fn write_kind(&self, f: &mut fmt::Formatter<'_>, kind: ChangeKind) -> fmt::Result {
        let all = self.number(kind);
        if all == 0 {
            return Ok(());
        }
        writeln!(f, "  {}: {}", kind.heading(), count(all, "case"))?;
        let listed: Vec<_> = self.changes.iter().filter(|change| change.kind == kind).collect();
        for change in listed.iter().take(PRINTED_CASES) {
            writeln!(f, "    {change}")?;
        }
        if listed.len() > PRINTED_CASES {
            writeln!(f, "    and {} more", thousands((listed.len() - PRINTED_CASES) as u64))?;
        }
        Ok(())
    }
}

impl fmt::Display for Change<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ends, case, .. } = self;
        write!(f, "{}: ", case.id)?;
        match ends {
            [Some(a), Some(b)] if a != b => write!(f, "{} -> {}", a.name(), b.name())?,
            [_, Some(b)] => f.write_str(b.name())?,
            [a, None] => write!(f, "was {}", a.unwrap_or(case.result).name())?,
        }
        let expected = case.expected.as_ref().map(|expected| &expected.reason);
        // A case that passes now needs no reason.
        let reason =
            case.detail.as_ref().or(expected).filter(|_| ends[1] != Some(ResultCode::Pass));
        match reason {
            Some(detail) => write!(f, ": {}", one_line(detail)),
            None => Ok(()),
        }
    }
}

/// The number of cases with each result code, before and after: `fail 0 -> 3`.
fn totals(a: Counts, b: Counts) -> String {
    let codes = ResultCode::ALL.into_iter().filter(|code| a.of(*code) + b.of(*code) > 0);
    let parts = codes.map(|code| match (a.of(code), b.of(code)) {
        (a, b) if a == b => format!("{} {}", code.name(), thousands(a)),
        (a, b) => format!("{} {} -> {}", code.name(), thousands(a), thousands(b)),
    });
    parts.collect::<Vec<_>>().join(", ")
}
