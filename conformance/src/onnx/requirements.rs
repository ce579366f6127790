//! The DirectML operators that tests need: a test whose operators are all implemented has to run.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use dml::core::operators::find;

use super::passing::Changes;
use super::suite::Test;
use crate::results::onnx::{Outcome, TargetResults};

/// The requirements of tests, from a file.
#[derive(Debug)]
pub struct Requirements {
    path: PathBuf,
    /// The comments at the beginning.
    header: String,
    tests: BTreeMap<String, Requirement>,
}

/// The requirements of one test.
#[derive(Debug)]
struct Requirement {
    /// DirectML's operators; empty if the host alone is enough.
    operators: Vec<String>,
    /// The reason why it does not run even so.
    excuse: Option<String>,
}

impl Requirements {
    /// Reads a file: one test in each line, as in `node/test_clip: ELEMENT_WISE_CLIP1`, with a reason after
    /// `#` if it does not run although its operators are implemented.
    ///
    /// # Errors
    /// The file cannot be read, or a line names an unknown operator.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let (mut header, mut tests) = (String::new(), BTreeMap::new());
        for (number, line) in (1..).zip(text.lines()) {
            if line.trim().is_empty() || line.starts_with('#') {
                header.extend([line, "\n"]);
                continue;
            }
            let at = || format!("{}: line {number}", path.display());
            let (content, excuse) = match line.split_once('#') {
                Some((content, excuse)) => (content, Some(excuse.trim().to_owned())),
                None => (line, None),
            };
            let (id, names) = content.split_once(':').with_context(|| {
                format!("{}: '{line}' has no ':'; accepted: TEST: OPERATORS", at())
            })?;
            let operators: Vec<String> = names.split_whitespace().map(str::to_owned).collect();
            if let Some(unknown) = operators.iter().find(|operator| find(operator).is_none()) {
                bail!("{}: '{unknown}' is not an operator of DirectML", at());
            }
            tests.insert(id.trim().to_owned(), Requirement { operators, excuse });
        }
        Ok(Self { path: path.to_owned(), header, tests })
    }

    /// Adds to `changes` the tests that did not run though their operators are implemented, and those that
    /// ran though an excuse says that they do not.
    pub fn compare(&self, tests: &[Test], targets: &[TargetResults], changes: &mut Changes) {
        let is_implemented = |name: &str| find(name).is_some_and(|it| it.implemented);
        self.compare_where(is_implemented, tests, targets, changes);
    }

    fn compare_where(
        &self,
        is_implemented: impl Fn(&str) -> bool,
        tests: &[Test],
        targets: &[TargetResults],
        changes: &mut Changes,
    ) {
        for (index, test) in tests.iter().enumerate() {
            let has_to_run =
                |it: &&Requirement| it.operators.iter().all(|operator| is_implemented(operator));
            let Some(requirement) = self.tests.get(&test.id).filter(has_to_run) else { continue };
            let mut ended = targets.iter().map(|target| (&target.title, &target.ended[index]));
            let not_run = ended.find(|(_, it)| it.outcome == Outcome::NotRun);
            match (not_run, &requirement.excuse) {
                (Some((title, ended)), None) => {
                    let why = ended.detail.as_deref().unwrap_or("no reason given");
                    changes.idle.push(format!("{}: not run on {title}: {why}", test.id));
                }
                (None, Some(_)) => changes.excused.push(test.id.clone()),
                _ => {}
            }
        }
    }

    /// Removes the excuses of tests from the file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn record(mut self, excused: &[String]) -> anyhow::Result<()> {
        if excused.is_empty() {
            return Ok(());
        }
        let excused: BTreeSet<&String> = excused.iter().collect();
        let mut text = self.header;
        for (id, requirement) in &mut self.tests {
            let excuse = requirement.excuse.as_ref().filter(|_| !excused.contains(id));
            let excuse = excuse.map(|excuse| format!(" # {excuse}")).unwrap_or_default();
            let operators: String =
                requirement.operators.iter().map(|operator| format!(" {operator}")).collect();
            text.push_str(&format!("{id}:{operators}{excuse}\n"));
        }
        dml_file::write(&self.path, |output| output.write_all(text.as_bytes()))
            .with_context(|| self.path.display().to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::onnx::Ended;

    fn requirements(folder: &tempfile::TempDir, text: &str) -> anyhow::Result<Requirements> {
        let path = folder.path().join("requirements.txt");
        std::fs::write(&path, text).unwrap();
        Requirements::read(&path)
    }

    #[test]
    fn a_test_whose_operators_are_implemented_has_to_run() {
        let folder = tempfile::tempdir().unwrap();
        let [here, missing] = ["ELEMENT_WISE_ABS", "ROI_POOLING"];
        let text = format!(
            "# comment\na: {here}\nb: {here} {missing}\nc: # a reason\nd: {here}\ne: {here} # old\nf:\n"
        );
        let requirements = requirements(&folder, &text).unwrap();
        let ids = ["a", "b", "c", "d", "e", "f", "g"];
        let test = |id: &str| Test {
            id: id.to_owned(),
            folder: PathBuf::new(),
            operators: BTreeSet::new(),
        };
        let tests = ids.map(test);
        let not_run = || Ended::because(Outcome::NotRun, "why");
        let passed = || Ended::passed(None);
        let target = |title: &str, a| TargetResults {
            title: title.to_owned(),
            seconds: 0.0,
            ended: vec![a, not_run(), not_run(), passed(), passed(), not_run(), not_run()],
        };
        let targets = [target("one", passed()), target("other", not_run())];
        let mut changes = Changes::default();
        requirements.compare_where(|it| it != missing, &tests, &targets, &mut changes);
        assert_eq!(changes.idle, ["a: not run on other: why", "f: not run on one: why"]);
        assert_eq!(changes.excused, ["e"]);
        requirements.record(&changes.excused).unwrap();
        let recorded = std::fs::read_to_string(folder.path().join("requirements.txt")).unwrap();
        assert_eq!(recorded, text.replace(" # old", ""));
    }

    #[test]
    fn wrong_lines_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let error = requirements(&folder, "# x\n\na: NOTHING\n").unwrap_err().to_string();
        assert!(error.ends_with("line 3: 'NOTHING' is not an operator of DirectML"), "{error}");
        let error = requirements(&folder, "a\n").unwrap_err().to_string();
        assert!(error.contains("line 1: 'a' has no ':'"), "{error}");
    }
}
