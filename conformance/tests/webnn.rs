//! Tests of WebNN are run and compared, and what passes is held against the list.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::path::{Path, PathBuf};
use std::process::Output;

use common::{Folder, conformance, text};
use serde_json::{Value, json};

fn at(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// A test of one operation on FLOAT32 [2], with more arguments.
fn test(name: &str, operation: &str, more: &[Value], data: &Value, expected: &Value) -> Value {
    let operand = |data: &Value| json!({ "data": data, "descriptor": { "shape": [2], "dataType": "float32" } });
    let arguments = [&[json!({ "input": "x" })], more].concat();
    json!({ "name": name, "graph": {
        "inputs": { "x": operand(data) },
        "operators": [{ "name": operation, "arguments": arguments, "outputs": "y" }],
        "expectedOutputs": { "y": operand(expected) } } })
}

/// Runs tests; returns the first target of the report too.
fn run(tests: &[Value], more: &[&str]) -> (Output, Value) {
    let folder = Folder::new();
    let path = folder.write("some.json", &json!({ "tests": tests }).to_string());
    let report = folder.text_path("report.json");
    let output = conformance(&[&["webnn", &path, "--json", &report], more].concat());
    let report = std::fs::read(folder.path("report.json"));
    let report: Value = serde_json::from_slice(&report.unwrap_or_default()).unwrap_or_default();
    (output, report["targets"][0].clone())
}

#[test]
fn what_is_listed_passes_on_every_device_and_nothing_is_wrong() {
    let (tests, list) = (at("tests/data/webnn"), at("expectations/webnn-passing.txt"));
    let output =
        conformance(&["webnn", tests.to_str().unwrap(), "--passing", list.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
}

#[test]
fn distances_are_measured_and_too_large_ones_are_wrong() {
    let tests = [
        test("exact", "neg", &[], &json!([1.5, "NaN"]), &json!([-1.5, "NaN"])),
        test(
            "near",
            "leakyRelu",
            &[json!({ "options": { "alpha": 0.1 } })],
            &json!([-1, 3]),
            &json!([-0.100_000_01, 3]),
        ),
        test("far", "neg", &[], &json!([1.5, 2]), &json!([-1.5, -2.000_000_2])),
        test("opposite", "neg", &[], &json!([1.5, "Infinity"]), &json!([-1.5, "Infinity"])),
        test("swapped", "neg", &[], &json!([1, 2]), &json!([-2, -1])),
        test("zeros", "neg", &[], &json!([1, 2]), &json!(0)),
    ];
    let (output, target) = run(&tests, &[]);
    assert_eq!(output.status.code(), Some(1));
    let ended: Vec<(&str, &Value)> = target["tests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["outcome"].as_str().unwrap(), it))
        .collect();
    let outcomes: Vec<&str> = ended.iter().map(|(outcome, _)| *outcome).collect();
    assert_eq!(outcomes, ["passed", "passed", "wrong", "wrong", "wrong", "wrong"]);
    assert_eq!(ended[1].1["distance"]["ulp"], 1);
    assert_eq!(ended[1].1["distance"]["allowed_ulp"], 1);
    let why = ended[2].1["detail"].as_str().unwrap();
    assert_eq!(
        why,
        "output 'y': element 1 is -2, must be -2.000000238418579: 1 ULP apart, 0 ULP allowed"
    );
    assert!(text(&output.stdout).contains("1 of 1 ULP"));
}

#[test]
fn what_cannot_be_run_says_why() {
    let (x, unit) = (json!([1, 2]), json!({ "options": { "axis": 0.5 } }));
    let tests = [
        test("other", "noSuchOperation", &[], &x, &x),
        test("needs", "lstm", &[], &x, &x),
        test("count", "neg", &[], &json!([1, 2, 3]), &x),
        test("number", "neg", &[], &json!(["one", 2]), &x),
        test("axis", "softmax", &[unit], &x, &x),
    ];
    let (output, target) = run(&tests, &[]);
    assert_eq!(output.status.code(), Some(0));
    let details: Vec<&str> = target["tests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["detail"].as_str().unwrap())
        .collect();
    assert_eq!(
        details,
        [
            "noSuchOperation: it is not an operation of WebNN that is known here",
            "lstm: weight is missing",
            "input 'x': 3 numbers do not fill [2]",
            "input 'x': \"one\" is not a number",
            "softmax: axis: 0.5 is not an integer",
        ]
    );
}

#[test]
fn relu_takes_integers() {
    let of = |data_type: &str, data: Value, expected: Value| {
        let test = test(data_type, "relu", &[], &data, &expected).to_string();
        serde_json::from_str(&test.replace("\"float32\"", &format!("\"{data_type}\""))).unwrap()
    };
    let tests: [Value; 3] = [
        of("int64", json!([-9_000_000_000_i64, 9_000_000_000_i64]), json!([0, 9_000_000_000_i64])),
        of("int32", json!([-2, 7]), json!([0, 7])),
        of("int8", json!([-128, 127]), json!([0, 127])),
    ];
    let (output, target) = run(&tests, &[]);
    let outcomes = target["tests"].as_array().unwrap().iter().map(|it| &it["outcome"]);
    assert!(outcomes.into_iter().all(|outcome| outcome == "passed"), "{target}");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn a_file_of_a_folder_may_have_no_tests() {
    let folder = Folder::new();
    folder.write("none.json", "{\"tests\": []}");
    let one = test("one", "neg", &[], &json!([1.5, 2]), &json!([-1.5, -2]));
    folder.write("one.json", &json!({ "tests": [one] }).to_string());
    let output = conformance(&["webnn", &folder.text_path(".")]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(text(&output.stdout).contains("1 test, 1 passed"), "{output:?}");
}

#[test]
fn wrong_usage_is_told_before_anything_runs() {
    let folder = Folder::new();
    let no_tests = folder.write("none.json", "{\"tests\": []}");
    let other = folder.write("other.json", "{\"tests\": [{\"name\": 1}]}");
    let missing = folder.text_path("missing.json");
    for (path, problem) in [
        (&no_tests, "there is no test in it"),
        (&other, "tests[0].name: invalid type: integer `1`"),
        (&missing, "missing.json"),
    ] {
        let output = conformance(&["webnn", path]);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(text(&output.stderr).contains(problem), "{output:?}");
    }
}
