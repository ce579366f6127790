//! One self-contained page: no other files, no network, and no script needed to read it.
//!
//! The page has counts and the cases that did not pass, never every case, so that a browser can open the page
//! of a run of millions of cases. The templates in `templates/report` escape every text.

mod excuse;
mod grid;
mod mark;
mod target;
mod timing;

use std::io;

use askama::Template;

use super::errors::{self, OperatorErrors};
use super::text::{count, thousands};
use crate::results::{ResultCode, Run};
use grid::{ANSWERS, Answer};
use mark::Mark;
use target::{Operators, TargetView};

/// Failures shown for one target.
const SHOWN_FAILURES: usize = 200;
/// Failures shown on the whole page, except for a few of each target.
const SHOWN_FAILURES_OF_ALL: usize = 2000;
/// The number of failures that every target may show.
const SHOWN_FAILURES_AT_LEAST: usize = 10;
/// With more targets than this, those without a failure are folded.
const OPEN_TARGETS: usize = 3;
/// With more operators than this, each is folded.
const OPEN_OPERATORS: usize = 16;

/// The contents of the template.
#[derive(Template)]
#[template(path = "report/page.html", whitespace = "minimize")]
struct Page<'a> {
    version: &'a str,
    request: String,
    verdict: Mark,
    /// How many cases ended in each way, over all targets: class, name and count.
    totals: Vec<(&'static str, &'static str, String)>,
    targets: Vec<TargetView<'a>>,
    /// The device, if all targets have the same.
    common: Option<String>,
    /// Failures on the page.
    failures: usize,
    /// The largest errors over all targets.
    errors: Vec<OperatorErrors<'a>>,
    /// How the devices compare with each other.
    agreement: Option<String>,
    answers: [Answer; ANSWERS.len()],
}

impl<'a> Page<'a> {
    fn new(run: &'a Run) -> Self {
        let counts = run.total();
        let targets = target::views(run);
        let codes = counts.columns();
        let class = |code: ResultCode| match code {
            _ if counts.of(code) == 0 => "none",
            ResultCode::Pass => "ok",
            code if code.is_failure() => "bad",
            _ => "part",
        };
        let total = |code| (class(code), code.name(), thousands(counts.of(code)));
        Self {
            version: &run.conformance_version,
            request: run.request(),
            verdict: Mark::of(counts),
            totals: codes.iter().map(|code| total(*code)).collect(),
            failures: targets.iter().map(|target| target.failures.len()).sum(),
            common: common_device(&targets),
            targets,
            errors: errors::rows(run),
            agreement: run.agreement.map(|agreement| agreement.words()),
            answers: ANSWERS,
        }
    }

    fn cases(&self) -> String {
        let cases = self.targets.iter().map(|target| target.counts.all()).sum();
        count(cases, "case")
    }

    /// The first target with the row's largest error, unless that is 0.
    fn worst_target(&self, row: &OperatorErrors<'_>) -> Option<&TargetView<'a>> {
        row.worst_target().and_then(|target| self.targets.get(target))
    }

    fn title(&self) -> String {
        match self.targets.as_slice() {
            [target] => target.run.title(),
            targets => count(targets.len() as u64, "target"),
        }
    }
}

fn common_device(targets: &[TargetView<'_>]) -> Option<String> {
    let [first, second, rest @ ..] = targets else { return None };
    let mut others = std::iter::once(second).chain(rest);
    others.all(|other| other.device() == first.device()).then(|| first.device())
}

/// The number of failures that each of `targets` targets may show.
fn shown_failures(targets: usize) -> usize {
    (SHOWN_FAILURES_OF_ALL / targets.max(1)).clamp(SHOWN_FAILURES_AT_LEAST, SHOWN_FAILURES)
}

/// Writes `run` as a page.
pub(super) fn write(run: &Run, output: &mut dyn io::Write) -> io::Result<()> {
    Page::new(run).write_into(output)?;
    writeln!(output)
}

#[cfg(test)]
mod tests;
