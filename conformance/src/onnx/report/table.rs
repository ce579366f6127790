//! The run for a terminal.

use std::io::{self, Write};

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, Table};

use super::{Counts, Run};
use crate::report::text::{count, one_line, thousands};
use crate::results::onnx::{Distance, Outcome, TargetResults};

/// So many of the tests that have one reason are named.
const NAMED: usize = 3;

/// Writes `run`: a line for each operator, reasons, and whatever is wrong. Targets on which every test
/// ended alike share it.
///
/// # Errors
/// The output cannot be written.
pub fn write(run: &Run, output: &mut dyn Write) -> io::Result<()> {
    let mut written: Vec<&TargetResults> = Vec::new();
    for target in &run.targets {
        if written.iter().any(|it| it.ended == target.ended) {
            continue;
        }
        written.push(target);
        for alike in run.targets.iter().filter(|it| it.ended == target.ended) {
            writeln!(output, "{}", one_line(&alike.title))?;
        }
        writeln!(output, "{}", operators(run, target))?;
        write_reasons(run, target, output)?;
        write_failures(run, target, output)?;
        writeln!(output)?;
    }
    write_changes(run, output)?;
    for target in &run.targets {
        let total = words(run.total(target));
        writeln!(output, "{}: {total}, {:.1} s", one_line(&target.title), target.seconds)?;
    }
    Ok(())
}

fn operators(run: &Run, target: &TargetResults) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    let outcomes = Outcome::ALL.map(Outcome::name);
    let distances = run.distances(target);
    let furthest = (!distances.is_empty()).then_some("furthest");
    table.set_header(["operator"].into_iter().chain(outcomes).chain(furthest));
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let row = |name: &str, counts: Counts| {
        let distance = distances.get(name).map(Distance::to_string);
        let cells = [one_line(name).into_owned()].into_iter().chain(counts.all().map(thousands));
        cells.chain(furthest.map(|_| distance.unwrap_or_default())).collect::<Vec<_>>()
    };
    for (name, counts) in run.operators(target) {
        table.add_row(row(name, counts));
    }
    table.add_row(row("all tests", run.total(target)));
    table
}

fn write_reasons(run: &Run, target: &TargetResults, output: &mut dyn Write) -> io::Result<()> {
    let reasons = run.reasons(target);
    if !reasons.is_empty() {
        writeln!(output, "not run:")?;
    }
    for reason in reasons {
        let mut names = reason.tests.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
        if reason.tests.len() > NAMED {
            names.push_str(", ...");
        }
        let (tests, text) = (thousands(reason.tests.len() as u64), one_line(&reason.reason));
        writeln!(output, "{tests:>7}  {text} ({names})")?;
    }
    Ok(())
}

fn write_failures(run: &Run, target: &TargetResults, output: &mut dyn Write) -> io::Result<()> {
    for outcome in [Outcome::Wrong, Outcome::Failed] {
        for (test, ended) in run.with(target).filter(|(_, it)| it.outcome == outcome) {
            let why = ended.detail.as_deref().unwrap_or("no reason given");
            writeln!(output, "{}: {}: {}", outcome.name(), test.id, one_line(why))?;
        }
    }
    Ok(())
}

/// Says how the run differs from the list of what passes.
fn write_changes(run: &Run, output: &mut dyn Write) -> io::Result<()> {
    let Some(changes) = &run.changes else { return Ok(()) };
    let parts = [
        ("has to pass, and did not", &changes.regressions),
        ("has to pass, and is not there", &changes.missing),
        ("passes and is not in the list, add it with --record", &changes.unlisted),
        ("has its operators, and is not run", &changes.idle),
        ("is run, and its excuse goes with --record", &changes.excused),
    ];
    for (what, tests) in parts {
        for test in tests {
            writeln!(output, "{what}: {}", one_line(test))?;
        }
    }
    Ok(())
}

/// `12 passed, 3 not run`.
fn words(counts: Counts) -> String {
    let all = count(counts.all().iter().sum(), "test");
    let parts = Outcome::ALL.into_iter().zip(counts.all()).filter(|(_, count)| *count > 0);
    let parts = parts.map(|(outcome, count)| format!("{} {}", thousands(count), outcome.name()));
    [all].into_iter().chain(parts).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;
    use crate::onnx::passing::Changes;

    fn written(run: &Run) -> String {
        let mut text = Vec::new();
        write(run, &mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn devices_with_the_same_results_share_a_table() {
        let text = written(&samples::run());
        assert!(text.starts_with("one\nthree\n┌"), "{text}");
        assert_eq!(
            text.matches("operator").count(),
            2 + 2 * "no operator".matches("operator").count()
        );
        let row = text.lines().find(|line| line.contains("│ Abs")).unwrap();
        let cells: Vec<_> = row.split('┆').map(|it| it.trim_matches(['│', ' '])).collect();
        assert_eq!(cells, ["Abs", "2", "0", "0", "1"]);
        let reason = "      2  Neg: not supported: no operator (node/b, node/c)\n";
        assert_eq!(text.matches(reason).count(), 2, "{text}");
        let wrong = "wrong: node/d: output 'y': element [0] is 1, must be 2\n";
        assert_eq!(text.matches(wrong).count(), 1, "{text}");
        assert!(text.ends_with("three: 4 tests, 2 passed, 2 not run, 1.0 s\n"), "{text}");
    }

    #[test]
    fn changes_are_told() {
        let changes = Changes {
            regressions: vec!["node/a: wrong on one: why".to_owned()],
            missing: vec!["node/x".to_owned()],
            unlisted: vec!["node/d".to_owned()],
            idle: vec!["node/b: not run on one: why".to_owned()],
            excused: vec!["node/e".to_owned()],
        };
        let text = written(&Run { changes: Some(changes), ..samples::run() });
        assert!(text.contains("has to pass, and did not: node/a: wrong on one: why\n"), "{text}");
        assert!(text.contains("has to pass, and is not there: node/x\n"), "{text}");
        assert!(text.contains("add it with --record: node/d\n"), "{text}");
        assert!(
            text.contains("has its operators, and is not run: node/b: not run on one"),
            "{text}"
        );
        assert!(text.contains("is run, and its excuse goes with --record: node/e\n"), "{text}");
    }
}
