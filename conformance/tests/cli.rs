//! The command line of the runner: what it prints and its exit codes.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::process::{Command, Output};

fn conformance(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dml-conformance")).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn list_prints_the_ids_that_match() {
    let output =
        conformance(&["list", "--feature-level", "5_1", "--filter", "*/int64/*/offset_zero"]);
    assert_eq!(output.status.code(), Some(0));
    let expected = ["rank2", "rank3", "rank4"]
        .map(|rank| format!("5_1/diagonal_matrix/int64/{rank}/offset_zero\n"))
        .concat();
    assert_eq!(text(&output.stdout), expected);
}

#[test]
fn run_prints_a_table_for_each_device_and_writes_json() {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("report.json");
    let path = json.to_str().unwrap();
    let output = conformance(&["run", "--filter", "*/diagonal_matrix/*/doc_*", "--json", path]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let report: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    let devices = report["devices"].as_array().unwrap();
    assert!(!devices.is_empty());
    for device in devices {
        assert!(text(&output.stdout).contains(device["name"].as_str().unwrap()));
        // Four examples at each of the 14 levels that have the operator.
        assert_eq!(device["total"]["pass"], 56);
        assert_eq!(device["total"]["fail"], 0);
    }
}

#[test]
fn wrong_usage_is_2() {
    for arguments in [
        &["run", "--feature-level", "7_0"][..],
        &["run", "--filter", "["],
        &["run", "--filter", "no_such_case"],
        &["run", "--filter", "*/doc_*", "--device", "no such device"],
        &["run", "--filter", "*/doc_*", "--json", "no/such/folder/report.json"],
        &["no-such-command"],
    ] {
        let output = conformance(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", text(&output.stderr));
        assert!(!output.stderr.is_empty());
    }
}

#[test]
fn no_device_is_3_and_says_what_to_install() {
    let output = Command::new(env!("CARGO_BIN_EXE_dml-conformance"))
        .args(["run", "--filter", "*/doc_*"])
        .env("VK_DRIVER_FILES", "/nonexistent.json")
        .env("VK_ICD_FILENAMES", "/nonexistent.json")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("mesa-vulkan-drivers"), "{}", text(&output.stderr));
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    use std::io::Read as _;
    let mut runner = Command::new(env!("CARGO_BIN_EXE_dml-conformance"))
        .arg("list")
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 16];
    runner.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = runner.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(text(&output.stderr), "");
}
