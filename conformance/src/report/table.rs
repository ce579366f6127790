//! The table for a terminal: counts for each feature level, then what did not pass.

use std::io::{self, Write};

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, Table};

use super::text::{count, one_line, thousands};
use crate::results::{CaseResult, Counts, ProfileRun, ResultCode, Run, TargetRun};

/// Cases of one result beyond this many are counted, not printed.
const PRINTED_CASES: usize = 20;
/// With more targets than this, those without a failure are lines of the summary only.
const PRINTED_TARGETS: usize = 8;

/// Writes `run` as tables.
pub(super) fn write(run: &Run, output: &mut dyn Write) -> io::Result<()> {
    let many = run.targets.len() > PRINTED_TARGETS;
    for target in &run.targets {
        if !many || target.total().failures() > 0 {
            write_target(target, output)?;
        }
    }
    if run.targets.len() > 1 {
        writeln!(output, "{}", summary(run))?;
    }
    if let Some(agreement) = &run.agreement {
        writeln!(output, "{}", agreement.words())?;
    }
    let total = run.total();
    writeln!(
        output,
        "{} on {}: {}{}{}",
        count(total.all(), "case"),
        count(run.targets.len() as u64, "target"),
        total.verdict(),
        if total.all() > 0 { ", " } else { "" },
        total.words()
    )
}

fn write_target(target: &TargetRun, output: &mut dyn Write) -> io::Result<()> {
    writeln!(output, "{}", one_line(&target.title()))?;
    writeln!(output, "{}", one_line(&target.surroundings()))?;
    if let Some(profile) = &target.profile {
        write_profile(profile, output)?;
    }
    writeln!(output, "{}", levels(target))?;
    if let Some(execution) = target.execution() {
        writeln!(output, "{}", one_line(&execution))?;
    }
    if let Some(dispatching) = target.dispatching() {
        writeln!(output, "{}", one_line(&dispatching))?;
    }
    for code in ResultCode::ALL.into_iter().filter(|code| *code != ResultCode::Pass) {
        write_cases(target, code, output)?;
    }
    if target.total().failures() > 0 {
        let what = "prints a case's descriptor, plan and matrices";
        writeln!(output, "`dml-conformance show ID{}` {what}", one_line(&target.options()))?;
    }
    writeln!(output)
}

fn write_profile(profile: &ProfileRun, output: &mut dyn Write) -> io::Result<()> {
    writeln!(output, "profile {}: {}", one_line(&profile.name), one_line(&profile.about))?;
    let more = [
        ("the same here, so not run again", &profile.also),
        ("the device does not have", &profile.shortfalls),
    ];
    for (what, entries) in more.into_iter().filter(|(_, entries)| !entries.is_empty()) {
        writeln!(output, "  {what}: {}", one_line(&entries.join(", ")))?;
    }
    Ok(())
}

/// A line for each feature level.
fn levels(target: &TargetRun) -> Table {
    let total = target.total();
    let columns = Columns { dispatched: target.kernels.is_some(), results: total.columns() };
    let mut table = table("feature level", &columns, &[]);
    for (level, counts) in target.levels() {
        table.add_row(columns.row(level.to_string(), counts));
    }
    table.add_row(columns.row("all".to_owned(), total));
    table
}

/// A line for each target.
fn summary(run: &Run) -> Table {
    let dispatched = run.targets.iter().all(|target| target.kernels.is_some());
    let columns = Columns { dispatched, results: run.total().columns() };
    let mut table = table("target", &columns, &["seconds"]);
    for target in &run.targets {
        let mut cells = columns.row(one_line(&target.title()).into_owned(), target.total());
        cells.push(format!("{:.1}", target.seconds));
        table.add_row(cells);
    }
    table
}

/// The columns between the first one and the verdict.
struct Columns {
    /// Whether it is known which cases dispatched kernels; older reports do not say.
    dispatched: bool,
    results: Vec<ResultCode>,
}

fn table(first: &str, columns: &Columns, last: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    let dispatched = columns.dispatched.then_some("dispatched");
    let names = dispatched.into_iter().chain(columns.results.iter().map(|code| code.name()));
    let header: Vec<&str> = [first, "cases"].into_iter().chain(names).chain(["verdict"]).collect();
    let verdict = header.len() - 1;
    table.set_header(header.into_iter().chain(last.iter().copied()));
    for (index, column) in table.column_iter_mut().enumerate().skip(1) {
        if index != verdict {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

impl Columns {
    fn row(&self, first: String, counts: Counts) -> Vec<String> {
        let mut cells = vec![first, thousands(counts.all())];
        cells.extend(self.dispatched.then(|| thousands(counts.dispatched())));
        cells.extend(self.results.iter().map(|code| thousands(counts.of(*code))));
        cells.push(counts.verdict().to_string());
        cells
    }
}

fn write_cases(target: &TargetRun, code: ResultCode, output: &mut dyn Write) -> io::Result<()> {
    let all = target.total().of(code);
    if all == 0 {
        return Ok(());
    }
    let hidden = all.saturating_sub(PRINTED_CASES as u64);
    let note = if hidden > 0 { format!(", the first {PRINTED_CASES}") } else { String::new() };
    let mut cases = target.cases.iter().filter(|case| case.result == code);
    if code == ResultCode::NotRun {
        // They are the same in every run of this target.
        let why = cases.next().map_or("", why);
        return writeln!(output, "{}: {}: {}", code.name(), count(all, "case"), one_line(why));
    }
    writeln!(output, "{}: {}{note}", code.name(), count(all, "case"))?;
    for case in cases.take(PRINTED_CASES) {
        writeln!(output, "  {}: {}", case.id, one_line(why(case)))?;
    }
    if hidden > 0 {
        writeln!(output, "  and {} more", thousands(hidden))?;
    }
    Ok(())
}

/// Why the case did not pass.
fn why(case: &CaseResult) -> &str {
    let reason = case.expected.as_ref().map(|expected| expected.reason.as_str());
    let detail = case.detail.as_deref();
    let excused = case.result == ResultCode::ExpectedFail;
    let why = if excused { reason.or(detail) } else { detail.or(reason) };
    why.unwrap_or("no reason given")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Agreement, KernelUse, samples};

    fn written(run: &Run) -> String {
        let mut text = Vec::new();
        write(run, &mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn a_target_has_a_heading_counts_and_what_did_not_pass() {
        let text = written(&samples::run());
        let heading = "Sample <device> & co\nsample driver 1.2, Vulkan 1.1.0, numerics exact, validation on, \
                       robust access on\n";
        assert!(text.starts_with(heading), "{text}");
        let row = text.lines().find(|line| line.starts_with("│ 5_1")).unwrap();
        let cells: Vec<_> = row.split('┆').map(|it| it.trim_matches(['│', ' '])).collect();
        assert_eq!(
            cells,
            ["5_1", "8", "1", "1", "1", "1", "1", "1", "1", "1", "1", "not conformant"]
        );
        assert!(text.contains("not-run: 1 case: not-run & why\n"), "{text}");
        assert!(
            text.contains(
                "fail: 1 case\n  5_1/diagonal_matrix/int32/rank2/offset_zero: fail & why\n"
            )
        );
        assert!(text.contains("expected-fail: 1 case\n"), "{text}");
        assert!(text.contains("/rank2/offset_zero: a reason\n"), "{text}");
        assert!(text.contains("`dml-conformance show ID`"), "{text}");
        assert!(text.ends_with(
            "8 cases on 1 target: not conformant, 1 pass, 1 fail, 1 unsupported, \
             1 expected-fail, 1 unexpected-pass, 1 crash, 1 timeout, 1 not-run\n"
        ));
    }

    #[test]
    fn the_interpreter_is_not_called_conformant() {
        let text = written(&samples::interpreted());
        assert!(
            text.ends_with("2 cases on 1 target: plans verified, 1 pass, 1 not-run\n"),
            "{text}"
        );
        assert!(!text.contains("conformant"), "{text}");
    }

    #[test]
    fn results_that_never_happened_have_no_column() {
        let mut run = samples::run();
        run.targets[0].cases.clear();
        let text = written(&run);
        let header = text.lines().find(|line| line.contains("feature level")).unwrap();
        assert!(header.contains("fail") && !header.contains("crash"), "{header}");
        assert!(!text.contains("show ID"), "{text}");
        assert!(text.ends_with("1 case on 1 target: conformant, 1 pass\n"), "{text}");
    }

    #[test]
    fn long_lists_are_cut_and_say_so() {
        let mut run = samples::run();
        let case = run.targets[0].cases[0].clone();
        run.targets[0].passes.clear();
        run.targets[0].cases = vec![case; 1234];
        let text = written(&run);
        assert!(text.contains("fail: 1,234 cases, the first 20\n"), "{text}");
        assert!(text.contains("  and 1,214 more\n"), "{text}");
        assert_eq!(text.matches("offset_zero: ").count(), PRINTED_CASES);
    }

    #[test]
    fn many_targets_have_a_line_each_and_those_with_failures_a_table() {
        let mut run = samples::run();
        let mut good = samples::target();
        good.cases.clear();
        good.device.name = "Good".to_owned();
        run.targets.extend(vec![good; PRINTED_TARGETS]);
        let text = written(&run);
        assert_eq!(text.matches("feature level").count(), 1, "{text}");
        assert_eq!(text.matches("│ Good").count(), PRINTED_TARGETS, "{text}");
        run.targets.pop();
        assert_eq!(written(&run).matches("feature level").count(), PRINTED_TARGETS);
    }

    #[test]
    fn operators_of_which_nothing_was_executed_are_named() {
        let mut run = samples::run();
        assert!(written(&run).contains("executed 1 of 1 operator\n"), "{}", written(&run));
        let refused = samples::case("5_1/other/int8/rank1/refused_data_type", ResultCode::Pass);
        let refused = CaseResult { executed: false, ..refused };
        let done = samples::case("5_1/some/int8/rank1/doc", ResultCode::Pass);
        samples::set_cases(&mut run.targets[0], [refused.clone(), done]);
        let text = written(&run);
        assert!(text.contains("executed 1 of 2 operators; not executed: OTHER\n"), "{text}");
        assert!(text.ends_with("2 cases on 1 target: conformant, 2 pass\n"), "{text}");
        run.targets[0].required = vec!["OTHER".to_owned()];
        assert!(written(&run).ends_with("incomplete, 2 pass\n"), "{}", written(&run));
        samples::set_cases(&mut run.targets[0], [refused]);
        run.targets[0].required.clear();
        assert!(written(&run).ends_with("not executed, 1 pass\n"), "{}", written(&run));
    }

    #[test]
    fn operators_for_which_no_kernel_ran_are_named_and_older_reports_do_not_say() {
        let mut run = samples::run();
        let case =
            |id: &str, dispatched| CaseResult { dispatched, ..samples::case(id, ResultCode::Pass) };
        let host_made = [1, 2].map(|rank| case(&format!("5_1/other/int8/rank{rank}/a"), false));
        let cases = host_made.into_iter().chain([case("5_1/some/int8/rank1/b", true)]);
        samples::set_cases(&mut run.targets[0], cases);
        let operators = vec![];
        run.targets[0].kernels = Some(KernelUse { distinct: 3, pipelines: 4, operators });
        let text = written(&run);
        let line = "\ndispatched kernels for 1 of 2 operators that were executed: 3 kernels, \
                    4 pipelines compiled; the bytes of 2 cases come from the host alone and say nothing \
                    of the driver; no case dispatched a kernel for: OTHER\n";
        assert!(text.contains(line), "{text}");
        assert!(text.ends_with("3 cases on 1 target: conformant, 3 pass\n"), "{text}");
        run.targets[0].kernels = None;
        assert!(!written(&run).contains("dispatched"), "{}", written(&run));
    }

    #[test]
    fn devices_that_were_compared_have_a_line() {
        let mut run = samples::run();
        assert!(!written(&run).contains("compared"));
        run.agreement = Some(Agreement { compared: 1234, agreed: 1230 });
        let line = "\ndevices compared with each other: 1,230 of 1,234 cases have the same results";
        assert!(written(&run).contains(line), "{}", written(&run));
    }

    #[test]
    fn profiles_say_what_they_stand_for() {
        let mut run = samples::run();
        run.targets[0].profile = Some(ProfileRun {
            name: "small".to_owned(),
            source: "small".to_owned(),
            about: "a small device".to_owned(),
            also: vec!["tiny".to_owned(), "low".to_owned()],
            shortfalls: vec!["shaderInt64".to_owned()],
        });
        let text = written(&run);
        assert!(text.starts_with("Sample <device> & co as small\n"), "{text}");
        assert!(text.contains(
            "profile small: a small device\n  the same here, so not run again: tiny, low\n  \
             the device does not have: shaderInt64\n"
        ));
    }
}
