//! Readers that end before the output does, and files that are both read and to be written.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::fs;
use std::process::Stdio;

use common::{Folder, conformance, runner, text};

const RUN: [&str; 5] =
    ["run", "--device", "interpreter", "--filter", "6_2/diagonal_matrix/float32/rank4/doc_*"];

/// The exit code, and what is printed to standard error, where nobody reads standard output.
fn without_reader(arguments: &[&str]) -> (Option<i32>, String) {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = runner();
    command.args(arguments).stdout(writer).stderr(Stdio::piped());
    let output = command.spawn().unwrap().wait_with_output().unwrap();
    (output.status.code(), text(&output.stderr))
}

fn write_report(path: &str) {
    let run = [&RUN[..], &["--format", "json", "--output", path]].concat();
    assert!(conformance(&run).status.success());
}

#[test]
fn nobody_has_to_read_the_output() {
    let folder = Folder::new();
    let report = folder.text_path("run.json");
    write_report(&report);
    let quiet = (Some(0), String::new());
    assert_eq!(without_reader(&["list", "--feature-level", "1_0"]), quiet);
    for format in ["table", "json", "junit", "html"] {
        assert_eq!(without_reader(&["convert", &report, "--format", format]), quiet, "{format}");
    }
    assert_eq!(without_reader(&["diff", &report, &report]), quiet);
    let ids = text(&conformance(&["list", "--filter", RUN[4]]).stdout);
    let id = ids.lines().next().unwrap();
    assert_eq!(without_reader(&["show", id, "--device", "interpreter"]), quiet);
    let (code, messages) = without_reader(&RUN);
    assert_eq!(code, Some(0));
    assert!(messages.contains(" 0 failed") && !messages.contains("error"), "{messages}");
}

/// A failure is not hidden by a reader that has gone.
#[test]
fn the_exit_code_is_that_of_the_run() {
    let folder = Folder::new();
    let known = "[[expect]]\ncases = \"*/doc_*\"\nresult = \"never\"\nreason = \"a test\"\n";
    let known = folder.write("known.toml", known);
    assert_eq!(without_reader(&[&RUN[..], &["--expectations", &known]].concat()).0, Some(1));
}

#[test]
fn a_report_does_not_replace_what_is_read() {
    let folder = Folder::new();
    let report = folder.text_path("run.json");
    let refused = |arguments: &[&str], option: &str, file: &str| {
        let before = fs::read(file).unwrap();
        let output = conformance(arguments);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let error = text(&output.stderr);
        assert!(error.starts_with(&format!("error: {option}: cannot write ")), "{error}");
        assert!(error.ends_with(", which is not overwritten\n"), "{error}");
        assert_eq!(fs::read(file).unwrap(), before);
    };
    write_report(&report);
    refused(&["convert", &report, "--format", "html", "--output", &report], "--output", &report);
    let expectations = folder.write("known.toml", "");
    let run = [&RUN[..], &["--expectations", &expectations, "--output", &expectations]].concat();
    refused(&run, "--output", &expectations);
    fs::create_dir(folder.path("tests")).unwrap();
    let model = folder.write("tests/model.onnx", "no model");
    let tests = folder.text_path("tests");
    refused(&["onnx", &tests, "--json", &model], "--json", &model);
    let passing = folder.write("passing", "");
    refused(&["onnx", &tests, "--passing", &passing, "--json", &passing], "--json", &passing);
}
