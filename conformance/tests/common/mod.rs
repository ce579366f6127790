//! Starting the runner and reading what it reports.
#![allow(dead_code, reason = "not every test file uses all of it")]

use std::path::PathBuf;
use std::process::{Command, Output};

use dml_conformance::results::{CaseResult, ResultCode, Run};
use tempfile::TempDir;

pub(crate) fn runner() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dml-conformance"));
    for variable in ["DML_CONFORMANCE_TEST_FAULT", "DML_PROFILE", "DML_ROBUST_ACCESS"] {
        command.env_remove(variable);
    }
    command
}

pub(crate) fn conformance(arguments: &[&str]) -> Output {
    runner().args(arguments).output().unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A folder for files of one test.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn text_path(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        std::fs::write(self.path(name), text).unwrap();
        self.text_path(name)
    }

    /// Runs `run` with a JSON report; returns it with what the command printed.
    pub(crate) fn run(&self, mut command: Command, arguments: &[&str]) -> (Run, Output) {
        let path = self.text_path("report.json");
        let output = command
            .arg("run")
            .args(arguments)
            .args(["--format", "json", "--output", &path])
            .output()
            .unwrap();
        let report = dml_conformance::report::read(&self.path("report.json"));
        (report.unwrap_or_else(|error| panic!("{error:#}: {output:?}")), output)
    }
}

/// The result of the case whose id ends so.
pub(crate) fn find<'a>(run: &'a Run, end: &str) -> &'a CaseResult {
    let mut cases = run.targets[0].cases.iter();
    cases.find(|case| case.id.to_string().ends_with(end)).unwrap()
}

/// Ids and results, in the order of the report.
pub(crate) fn results(run: &Run) -> Vec<(String, ResultCode)> {
    let cases = run.targets.iter().flat_map(|target| &target.cases);
    cases.map(|case| (case.id.to_string(), case.result)).collect()
}
