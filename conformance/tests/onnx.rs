//! Tests of ONNX are run, compared and held against the list of what passes.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::{Folder, runner, text};
use serde_json::Value;

/// A few of ONNX's own, which the importer's tests have too.
fn some_tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/dml-import/tests/data/onnx-backend")
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let (path, target) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        match path.is_dir() {
            true => copy(&path, &target),
            false => _ = std::fs::copy(path, target).unwrap(),
        }
    }
}

/// Runs the tests in `suite` with more arguments; returns the JSON report too.
fn run(folder: &Folder, suite: &Path, command: &mut Command, more: &[&str]) -> (Output, Value) {
    let path = folder.text_path("report.json");
    let command = command.arg("onnx").arg(suite).args(["--json", &path]).args(more);
    let output = command.output().unwrap();
    let json = std::fs::read(folder.path("report.json"));
    let json = json.unwrap_or_else(|error| panic!("{error}: {output:?}"));
    (output, serde_json::from_slice(&json).unwrap())
}

fn targets(report: &Value) -> &[Value] {
    let targets = report["targets"].as_array().unwrap();
    assert!(!targets.is_empty());
    targets
}

/// The outcome and the detail of a test on a target.
fn ended<'a>(target: &'a Value, id: &str) -> (&'a str, &'a str) {
    let test = target["tests"].as_array().unwrap().iter().find(|it| it["id"] == id).unwrap();
    (test["outcome"].as_str().unwrap(), test["detail"].as_str().unwrap_or_default())
}

#[test]
fn onnx_tests_pass_on_every_device_and_are_counted_by_operator() {
    let folder = Folder::new();
    let (output, report) = run(&folder, &some_tests(), &mut runner(), &[]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    for target in targets(&report) {
        let operators = target["operators"].as_object().unwrap();
        let names: Vec<&str> = operators.keys().map(String::as_str).collect();
        assert_eq!(names, ["EyeLike", "Trilu"], "{}", target["device"]);
        assert_eq!(operators["EyeLike"]["passed"], 3, "{}", target["device"]);
        assert_eq!(target["total"]["not_run"], 0, "{}", target["device"]);
    }
    assert!(text(&output.stdout).contains("│ EyeLike "));
}

#[test]
fn a_wrong_answer_fails_the_run() {
    let folder = Folder::new();
    let suite = folder.path("suite");
    for test in ["test_eyelike_with_dtype", "test_triu"] {
        copy(&some_tests().join(test), &suite.join(test));
    }
    // The last byte of the raw data: the sign and exponent of a double.
    let answer = suite.join("test_eyelike_with_dtype/test_data_set_0/output_0.pb");
    let mut bytes = std::fs::read(&answer).unwrap();
    *bytes.last_mut().unwrap() ^= 0x40;
    std::fs::write(&answer, bytes).unwrap();
    let (output, report) = run(&folder, &suite, &mut runner(), &[]);
    assert_eq!(output.status.code(), Some(1));
    for target in targets(&report) {
        let (outcome, detail) = ended(target, "test_eyelike_with_dtype");
        assert_eq!(outcome, "wrong");
        assert!(detail.contains("element [2, 3] is") && detail.contains("1 of 12"), "{detail}");
        assert_eq!(ended(target, "test_triu").0, "passed");
    }
    assert!(text(&output.stdout).contains("wrong: test_eyelike_with_dtype: output 'y': "));
}

#[test]
fn a_crash_is_one_failure_and_the_run_goes_on() {
    let folder = Folder::new();
    let mut command = runner();
    command.env("DML_CONFORMANCE_TEST_FAULT", "crash:*/test_triu");
    let (output, report) = run(&folder, &some_tests(), &mut command, &["--filter", "test_tri*"]);
    assert_eq!(output.status.code(), Some(1));
    for target in targets(&report) {
        let (outcome, detail) = ended(target, "test_triu");
        assert_eq!(outcome, "failed");
        assert!(detail.starts_with("crash: "), "{detail}");
        assert_eq!(target["total"]["failed"], 1);
        assert!(target["total"]["passed"].as_u64().unwrap() > 10);
    }
}

#[test]
fn what_cannot_be_run_is_reported_with_its_reason_and_fails_only_where_it_is_listed() {
    let folder = Folder::new();
    let suite = folder.path("suite");
    copy(&some_tests().join("test_triu"), &suite.join("test_triu"));
    let model = suite.join("test_triu/model.onnx");
    let bytes = std::fs::read(&model).unwrap();
    let at = bytes.windows(5).position(|it| it == b"Trilu").unwrap();
    let other = [&bytes[..at], b"Other", &bytes[at + 5..]].concat();
    std::fs::write(&model, other).unwrap();
    let (output, report) = run(&folder, &suite, &mut runner(), &[]);
    assert_eq!(output.status.code(), Some(0));
    for target in targets(&report) {
        assert_eq!(target["operators"]["Other"]["not_run"], 1);
        let reason = &target["reasons"][0];
        assert_eq!(reason["tests"], serde_json::json!(["test_triu"]));
        let reason = reason["reason"].as_str().unwrap();
        assert!(reason.starts_with("Other: not supported: "), "{reason}");
    }
    let list = folder.write("list.txt", "test_triu\n");
    let (output, report) = run(&folder, &suite, &mut runner(), &["--passing", &list]);
    assert_eq!(output.status.code(), Some(1));
    let regression = report["changes"]["regressions"][0].as_str().unwrap();
    assert!(regression.starts_with("test_triu: not run on "), "{regression}");
}

#[test]
fn what_passes_has_to_be_listed_and_can_be_recorded() {
    let folder = Folder::new();
    let list = folder.write("list.txt", "test_gone\ntest_tril\n");
    let run = |more: &[&str]| {
        let arguments = [&["--passing", list.as_str()][..], more].concat();
        run(&folder, &some_tests(), &mut runner(), &arguments)
    };
    let (output, report) = run(&["--filter", "test_tril{,_pos}"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(report["changes"]["unlisted"], serde_json::json!(["test_tril_pos"]));
    assert_eq!(report["changes"]["missing"], serde_json::json!([]));
    let (output, _) = run(&["--filter", "test_tril{,_pos}", "--record"]);
    assert_eq!(output.status.code(), Some(0));
    let listed = std::fs::read_to_string(&list).unwrap();
    assert!(listed.ends_with("\ntest_gone\ntest_tril\ntest_tril_pos\n"), "{listed}");
    // Of a whole run a test that is listed has to be there.
    let (output, report) = run(&["--record"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(report["changes"]["missing"], serde_json::json!(["test_gone"]));
    assert!(text(&output.stdout).contains("has to pass, and is not there: test_gone\n"));
}

#[test]
fn wrong_usage_is_told_before_anything_runs() {
    let folder = Folder::new();
    let suite = some_tests();
    let empty = folder.path("");
    for (arguments, problem) in [
        (vec![empty.as_os_str()], "no folder below it has a model.onnx"),
        (
            vec![suite.as_os_str(), "--filter".as_ref(), "nothing".as_ref()],
            "no test matches --filter",
        ),
        (
            vec![suite.as_os_str(), "--device".as_ref(), "interpreter".as_ref()],
            "need a Vulkan device",
        ),
        (vec![suite.as_os_str(), "--passing".as_ref(), "no-such-file".as_ref()], "no-such-file"),
        (vec![suite.as_os_str(), "--record".as_ref()], "--passing"),
    ] {
        let output = runner().arg("onnx").args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(text(&output.stderr).contains(problem), "{output:?}");
    }
}
