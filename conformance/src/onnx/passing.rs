//! The checked-in list of tests that pass, so that a test that no longer passes is noticed.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::Serialize;

use super::suite::Test;
use crate::results::onnx::{Outcome, TargetResults};

/// The first lines of such a file.
const HEADER: &str = "\
# Tests that pass on every device, by name. What is here has to pass; a test that passes and is missing
# here is added with --record.
";

/// The list in a file.
#[derive(Debug)]
pub struct Passing {
    path: PathBuf,
    ids: BTreeSet<String>,
}

/// The differences of a run from the list.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct Changes {
    /// Listed tests that did not pass: the test, the device, and how it ended.
    pub regressions: Vec<String>,
    /// Listed tests that do not exist.
    pub missing: Vec<String>,
    /// Tests that passed on every device, and are not listed.
    pub unlisted: Vec<String>,
    /// Tests that did not run, though their operators are implemented: the test, the device, and the reason.
    pub idle: Vec<String>,
    /// Tests that ran, though an excuse says that they do not.
    pub excused: Vec<String>,
}

impl Changes {
    /// Whether there are no differences.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Passing {
    /// Reads a list: one id in each line; `#` begins a comment.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let lines = text.lines().map(str::trim);
        let ids =
            lines.filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned);
        Ok(Self { path: path.to_owned(), ids: ids.collect() })
    }

    /// Compares results with the list. With `is_whole`, every existing test was run.
    pub fn compare(&self, tests: &[Test], targets: &[TargetResults], is_whole: bool) -> Changes {
        let mut changes = Changes::default();
        let mut on_all: BTreeMap<&str, bool> = BTreeMap::new();
        for TargetResults { title, ended, .. } in targets {
            for (test, ended) in tests.iter().zip(ended) {
                let passed = ended.outcome == Outcome::Passed;
                *on_all.entry(&test.id).or_insert(true) &= passed;
                if !passed && self.ids.contains(&test.id) {
                    let why = ended.detail.as_deref().unwrap_or("no reason given");
                    let how = ended.outcome.name();
                    changes.regressions.push(format!("{}: {how} on {title}: {why}", test.id));
                }
            }
        }
        let passed = on_all.iter().filter(|(id, passed)| **passed && !self.ids.contains(**id));
        changes.unlisted = passed.map(|(id, _)| (*id).to_owned()).collect();
        if is_whole {
            let is_there = |id: &&String| !on_all.contains_key(id.as_str());
            changes.missing = self.ids.iter().filter(is_there).cloned().collect();
        }
        changes
    }

    /// Adds tests to the file. Tests are only removed by people.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn record(mut self, unlisted: &[String]) -> anyhow::Result<()> {
        self.ids.extend(unlisted.iter().cloned());
        let mut text = HEADER.to_owned();
        self.ids.iter().for_each(|id| text.extend([id, "\n"]));
        dml_file::write(&self.path, |output| output.write_all(text.as_bytes()))
            .with_context(|| self.path.display().to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::onnx::Ended;

    fn test(id: &str) -> Test {
        Test { id: id.to_owned(), folder: PathBuf::new(), operators: BTreeSet::new() }
    }

    fn ended(outcome: Outcome) -> Ended {
        match outcome {
            Outcome::Passed => Ended::passed(None),
            other => Ended::because(other, "why"),
        }
    }

    fn list(folder: &tempfile::TempDir, text: &str) -> Passing {
        let path = folder.path().join("list.txt");
        std::fs::write(&path, text).unwrap();
        Passing::read(&path).unwrap()
    }

    #[test]
    fn what_is_listed_has_to_pass_on_every_device() {
        let folder = tempfile::tempdir().unwrap();
        let list = list(&folder, "# a comment\nb\n\n a \ngone\n");
        let tests = ["a", "b", "c", "d"].map(test);
        use Outcome::{Failed, NotRun, Passed};
        let target = |title: &str, outcomes: [Outcome; 4]| TargetResults {
            title: title.to_owned(),
            seconds: 0.0,
            ended: outcomes.map(ended).to_vec(),
        };
        let results = [
            target("one", [Passed, Passed, Passed, Passed]),
            target("other", [Passed, Failed, Passed, NotRun]),
        ];
        let changes = list.compare(&tests, &results, true);
        assert_eq!(changes.regressions, ["b: failed on other: why"]);
        assert_eq!(changes.unlisted, ["c"]);
        assert_eq!(changes.missing, ["gone"]);
        let part = list.compare(&tests[..1], &results, false);
        assert!(part.is_empty(), "{part:?}");
    }

    #[test]
    fn recording_adds_in_order_and_takes_nothing_away() {
        let folder = tempfile::tempdir().unwrap();
        list(&folder, "c\n").record(&["d".to_owned(), "a".to_owned()]).unwrap();
        let text = std::fs::read_to_string(folder.path().join("list.txt")).unwrap();
        assert_eq!(text, format!("{HEADER}a\nc\nd\n"));
        assert!(Passing::read(&folder.path().join("no.txt")).is_err());
    }
}
