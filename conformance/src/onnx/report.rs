//! The report on a run of ONNX's tests: counts by operator, reasons, and wrong results.

mod json;
mod libraries;
mod markdown;
mod models;
mod page;
mod table;

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

pub use json::write as write_json;
pub use models::write as write_models;
pub use page::write as write_page;
pub use table::write as write_table;

use super::passing::Changes;
use super::suite::Test;
use crate::results::onnx::{Distance, Ended, Outcome, TargetResults};

/// A run.
#[derive(Debug)]
pub struct Run {
    /// The tests.
    pub tests: Vec<Test>,
    /// The results on each target.
    pub targets: Vec<TargetResults>,
    /// The differences from the list of passing tests, if there is one.
    pub changes: Option<Changes>,
}

/// The number of tests with each outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    passed: u64,
    wrong: u64,
    failed: u64,
    not_run: u64,
}

impl Counts {
    fn add(&mut self, outcome: Outcome) {
        let count = match outcome {
            Outcome::Passed => &mut self.passed,
            Outcome::Wrong => &mut self.wrong,
            Outcome::Failed => &mut self.failed,
            Outcome::NotRun => &mut self.not_run,
        };
        *count += 1;
    }

    /// The counts in the order of [`Outcome::ALL`].
    fn all(self) -> [u64; 4] {
        [self.passed, self.wrong, self.failed, self.not_run]
    }
}

/// A reason why tests were not run, and the tests.
#[derive(Debug, Serialize)]
struct Reason<'a> {
    reason: String,
    tests: Vec<&'a str>,
}

impl Run {
    /// Whether an output is wrong or missing, or differs from the list.
    pub fn is_bad(&self) -> bool {
        self.targets.iter().any(|it| it.ended.iter().any(|it| it.outcome.is_bad()))
            || self.changes.as_ref().is_some_and(|change| !change.is_empty())
    }

    fn with<'a>(
        &'a self,
        target: &'a TargetResults,
    ) -> impl Iterator<Item = (&'a Test, &'a Ended)> {
        self.tests.iter().zip(&target.ended)
    }

    fn total(&self, target: &TargetResults) -> Counts {
        let mut counts = Counts::default();
        target.ended.iter().for_each(|it| counts.add(it.outcome));
        counts
    }

    /// The counts by operator. A test counts for each of its operators.
    fn operators<'a>(&'a self, target: &'a TargetResults) -> BTreeMap<&'a str, Counts> {
        let mut all: BTreeMap<&str, Counts> = BTreeMap::new();
        for (test, ended) in self.with(target) {
            let operators = test.operators.iter().map(String::as_str);
            operators.for_each(|operator| all.entry(operator).or_default().add(ended.outcome));
        }
        all
    }

    /// For each operator, the distance that is nearest to its limit.
    fn distances<'a>(&'a self, target: &'a TargetResults) -> BTreeMap<&'a str, Distance> {
        let mut all: BTreeMap<&str, Distance> = BTreeMap::new();
        for (test, ended) in self.with(target) {
            let Some(distance) = ended.distance else { continue };
            for operator in &test.operators {
                let largest = all.entry(operator).or_default();
                *largest = largest.max(distance);
            }
        }
        all
    }

    /// The reasons why tests were not run, the most frequent one first.
    fn reasons<'a>(&'a self, target: &'a TargetResults) -> Vec<Reason<'a>> {
        let mut all: HashMap<String, Vec<&str>> = HashMap::new();
        for (test, ended) in self.with(target).filter(|(_, it)| it.outcome == Outcome::NotRun) {
            let detail = ended.detail.as_deref().unwrap_or_default();
            all.entry(without_names(detail)).or_default().push(&test.id);
        }
        let mut all: Vec<Reason<'_>> =
            all.into_iter().map(|(reason, tests)| Reason { reason, tests }).collect();
        all.sort_by(|a, b| (b.tests.len(), &a.reason).cmp(&(a.tests.len(), &b.reason)));
        all
    }
}

/// A message without quoted names, which are those of nodes and values and differ from test to test.
fn without_names(text: &str) -> String {
    let mut parts = text.split('\'');
    let mut result = parts.next().unwrap_or_default().to_owned();
    while let Some(name) = parts.next() {
        match parts.next() {
            Some(after) if result.ends_with(' ') => {
                result.truncate(result.len() - 1);
                result.push_str(after);
            }
            Some(after) => result.push_str(after),
            // An apostrophe.
            None => result.extend(["'", name]),
        }
    }
    result
}

#[cfg(test)]
mod samples {
    use super::*;

    /// Two devices that differ in one test.
    pub(super) fn run() -> Run {
        let test = |id: &str, operators: &[&str]| Test {
            id: id.to_owned(),
            folder: id.into(),
            operators: operators.iter().map(|operator| (*operator).to_owned()).collect(),
        };
        let passed = || Ended::passed(None);
        let because = |outcome, detail: &str| Ended::because(outcome, detail);
        let ended = |last: Ended| {
            let refused = |name: &str| {
                because(Outcome::NotRun, &format!("Neg '{name}': not supported: no operator"))
            };
            vec![passed(), refused("y"), refused("z"), last]
        };
        let target = |title: &str, last| TargetResults {
            title: title.to_owned(),
            seconds: 1.0,
            ended: ended(last),
        };
        let wrong = because(Outcome::Wrong, "output 'y': element [0] is 1, must be 2");
        Run {
            tests: vec![
                test("node/a", &["Abs"]),
                test("node/b", &["Abs", "Neg"]),
                test("node/c", &["Neg"]),
                test("node/d", &["Abs"]),
            ],
            targets: vec![target("one", passed()), target("two", wrong), target("three", passed())],
            changes: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_counts_for_each_of_its_operators() {
        let run = samples::run();
        let operators = run.operators(&run.targets[1]);
        assert_eq!(operators["Abs"].all(), [1, 1, 0, 1]);
        assert_eq!(operators["Neg"].all(), [0, 0, 0, 2]);
        assert_eq!(run.total(&run.targets[1]).all(), [1, 1, 0, 2]);
        assert_eq!(run.total(&run.targets[0]).all(), [2, 0, 0, 2]);
    }

    #[test]
    fn reasons_are_grouped_without_names() {
        let run = samples::run();
        let reasons = run.reasons(&run.targets[0]);
        assert_eq!(reasons.len(), 1);
        assert_eq!(reasons[0].reason, "Neg: not supported: no operator");
        assert_eq!(reasons[0].tests, ["node/b", "node/c"]);
        assert_eq!(without_names("what's"), "what's");
        assert_eq!(without_names("('a') 'b'"), "()");
    }

    #[test]
    fn a_wrong_answer_or_a_change_is_bad() {
        let mut run = samples::run();
        assert!(run.is_bad());
        run.targets.remove(1);
        assert!(!run.is_bad());
        run.changes = Some(Changes::default());
        assert!(!run.is_bad());
        run.changes = Some(Changes { unlisted: vec!["node/a".to_owned()], ..Changes::default() });
        assert!(run.is_bad());
    }
}
