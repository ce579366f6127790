//! `dml graph`: what it prints, writes and refuses, with a device and without.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{dml, failed, fails, stdout, text, without_device};
use serde_json::{Value, json};
use tempfile::TempDir;

/// `relu(input + 1)`, where the sum is called `name`.
fn graph(name: &str) -> Value {
    let tensor = json!({ "DataType": "FLOAT32", "Sizes": [2, 3] });
    let sum = json!({ "ATensor": tensor, "BTensor": tensor, "OutputTensor": tensor });
    let relu = json!({ "InputTensor": tensor, "OutputTensor": tensor });
    let ones = json!({ "DataType": "FLOAT32", "Values": [1, 1, 1, 1, 1, 1] });
    json!({
        "Nodes": [
            { "Type": "CONSTANT", "Data": ones },
            { "Type": "OPERATOR", "Name": name,
              "Operator": { "Type": "ELEMENT_WISE_ADD", "Desc": sum } },
            { "Type": "OPERATOR", "Operator": { "Type": "ACTIVATION_RELU", "Desc": relu } }
        ],
        "InputEdges": [{ "GraphInputIndex": 0, "ToNodeIndex": 1, "ToNodeInputIndex": 0 }],
        "IntermediateEdges": [
            { "FromNodeIndex": 0, "FromNodeOutputIndex": 0, "ToNodeIndex": 1, "ToNodeInputIndex": 1 },
            { "FromNodeIndex": 1, "FromNodeOutputIndex": 0, "ToNodeIndex": 2, "ToNodeInputIndex": 0 }
        ],
        "OutputEdges": [{ "FromNodeIndex": 2, "FromNodeOutputIndex": 0, "GraphOutputIndex": 0 }]
    })
}

/// A folder with a file, and the file's path.
fn file(content: impl ToString) -> (TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph.json");
    std::fs::write(&path, content.to_string()).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (folder, path)
}

const BOUND: &str =
    "inputs:\n  0: FLOAT32 [2, 3], 24 bytes\noutputs:\n  0: FLOAT32 [2, 3], 24 bytes\n";
const FUSED: &str = "1 part, 1 step\n  0: 1 step: Nodes[1] (the sum) + Nodes[2]\n";

#[test]
fn a_graph_is_compiled_and_explained() {
    let (_folder, path) = file(graph("the sum"));
    for run in [dml::<&str>, without_device] {
        let printed = stdout(run(&["graph", &path]));
        let rest = "steps: 1\ntemporary resource: 0 bytes\npersistent resource: 0 bytes\n";
        assert_eq!(printed, format!("{BOUND}{rest}"));
        let printed = stdout(run(&["graph", &path, "--explain"]));
        assert!(printed.contains(&format!("\n\n{FUSED}")), "{printed}");
        let program = "     output 0 over [2, 3] = map add relu (input 0, %0)\n       \
            72 bytes, 12 operations, 6 invocations\n     1 x element_wise_0 ";
        assert!(printed.contains(program), "{printed}");
        let printed = stdout(run(&["graph", &path, "--explain", "--no-fuse"]));
        assert!(printed.starts_with(&format!("{BOUND}steps: 2\n")), "{printed}");
        assert!(printed.contains("\n  0: 1 step: Nodes[1] (the sum)\n"), "{printed}");
    }
}

#[test]
fn without_a_device_the_note_says_what_it_is_compiled_for() {
    let (_folder, path) = file(graph("the sum"));
    let note = |arguments: &[&str]| text(&without_device(arguments).stderr);
    let least = "note: no Vulkan device found; compiled for the minimum limits of Vulkan\n";
    assert_eq!(note(&["graph", &path]), least);
    let profile = note(&["graph", &path, "--profile", "no-transfer-usage"]);
    assert!(profile.ends_with("; compiled for profile no-transfer-usage\n"), "{profile}");
    // If a device is requested, only that device is used.
    let named = without_device(&["graph", &path, "--device", "0"]);
    failed(&named, 3, "mesa-vulkan-drivers");
    assert!(named.stdout.is_empty());
    failed(without_device(&["graph", &path, "--validation"]), 3, "mesa-vulkan-drivers");
}

#[test]
fn the_picture_is_printed_or_written() {
    let (folder, path) = file(graph("the \"sum\""));
    let printed = stdout(dml(&["graph", &path, "--dot", "-"]));
    assert!(printed.starts_with("digraph {\n") && printed.ends_with("}\n"), "{printed}");
    let node = r#"    n1 [label="ELEMENT_WISE_ADD\nNodes[1] (the \"sum\")"];"#;
    assert!(printed.lines().any(|line| line == node), "{printed}");
    let picture = folder.path().join("picture.dot");
    let arguments = ["graph", &path, "--dot", picture.to_str().unwrap(), "--explain"];
    assert!(stdout(dml(&arguments)).contains("1 part, 1 step\n"));
    assert_eq!(std::fs::read_to_string(picture).unwrap(), printed);
    fails(
        &["graph", &path, "--dot", "no/such/folder/x.dot"],
        1,
        "cannot write no/such/folder/x.dot",
    );
    fails(&["graph", &path, "--dot", "-", "--explain"], 2, "give --dot a file");
}

#[test]
fn refusals_are_1_with_the_file_and_the_path() {
    let refused = |json: Value, message: &str| {
        let (_folder, path) = file(json);
        failed(without_device(&["graph", &path]), 1, &format!("error: {path}: {message}"));
    };
    let mut json = graph("x");
    json["Nodes"][1]["Operator"]["Desc"]["ATensor"]["Sizes"] = json!([2, -3]);
    refused(json, "ELEMENT_WISE_ADD: Nodes[1].Operator.ATensor.Sizes[1]: -3 is out of range");
    let mut json = graph("x");
    json["InputEdges"][0]["ToNodeIndex"] = json!(7);
    refused(json, "graph: InputEdges[0].ToNodeIndex: 7 is not a node; accepted: 0 to 2");
    let mut json = graph("a\u{1b}[2J");
    json["Nodes"][1]["Operator"]["Desc"]["ATensor"]["Sizes"] = json!([2, 0]);
    refused(json, "graph: Nodes[1] (a_[2J): ELEMENT_WISE_ADD: ATensor.Sizes[1]: 0 is not a size");
    refused(json!([]), "graph: json: [] is not an object; accepted: an object");
    let (_folder, path) = file("{ \"Nodes\": ");
    failed(
        without_device(&["graph", &path]),
        1,
        &format!("{path}: not a JSON file: EOF while parsing"),
    );
    let (_folder, path) = file("[".repeat(1 << 20));
    failed(without_device(&["graph", &path]), 1, "recursion limit exceeded");
    let (_folder, path) = file(" ".repeat((16 << 20) + 1));
    failed(without_device(&["graph", &path]), 1, "too large; accepted: up to 16777216 bytes");
    fails(&["graph", "no/such.json"], 1, "error: no/such.json: cannot be read: ");
}

#[test]
fn the_level_is_checked_under_both_names() {
    let (_folder, path) = file(graph("x"));
    for option in ["--level", "--feature-level"] {
        let constants = "graph: Nodes[0]: CONSTANT: needs feature level 6_2";
        failed(without_device(&["graph", &path, option, "6_1"]), 1, constants);
        stdout(without_device(&["graph", &path, option, "6_2"]));
    }
    fails(&["graph", &path, "--level", "9_9"], 2, "accepted: 1_0");
}

#[test]
fn the_example_of_the_documentation_compiles() {
    let documentation = include_str!("../../../docs/graphs.md");
    let (_, example) = documentation.split_once("```json\n").unwrap();
    let (_folder, path) = file(example.split_once("```").unwrap().0);
    let printed = stdout(without_device(&["graph", &path, "--explain"]));
    assert!(printed.contains("\n  0: 1 step: Nodes[0] (sum) + Nodes[1]\n"), "{printed}");
}
