//! `dml support`, and `--profile` and `DML_PROFILE` of every subcommand.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::process::Command;

use common::{command, failed as fails, stdout, text, without_device};
use serde_json::Value;

fn dml() -> Command {
    let mut command = command();
    command.env_remove("DML_PROFILE");
    command
}

/// The row of a table that begins with `name`, as words.
fn row<'a>(table: &'a str, name: &str) -> Vec<&'a str> {
    let line = table.lines().find(|line| line.split_whitespace().next() == Some(name));
    line.unwrap_or_else(|| panic!("{name} in\n{table}")).split_whitespace().skip(1).collect()
}

#[test]
fn a_profile_answers_without_any_device() {
    let table = stdout(without_device(&[
        "support",
        "dml_operator_diagonal_matrix",
        "--profile",
        "no-optional-features",
        "--feature-level",
        "5_0",
    ]));
    let ranks = |middle| ["-", middle, middle, middle, "-", "-", "-", "-"];
    assert_eq!(row(&table, "FLOAT32"), ranks("native"));
    assert_eq!(row(&table, "UINT8"), ranks("emulated"));
    assert_eq!(row(&table, "INT64"), ranks("5_1"));
    assert_eq!(row(&table, "UINT4"), ranks("-"));
    assert!(table.contains("INT8: parts of 32-bit words"), "{table}");
    assert!(table.lines().all(|line| line.chars().count() <= 100), "{table}");
}

/// The answer for a type of one operator, the best of all ranks.
fn answer(subject: &[&str], operator: &str, data_type: &str) -> String {
    let arguments = ["support", operator, "--json"];
    let output = dml().args(arguments).args(subject).output().unwrap();
    let json: Value = serde_json::from_str(&stdout(output)).unwrap();
    let tensors = json["operators"][0]["tensors"].as_array().unwrap().iter();
    let answers = tensors.flat_map(|tensor| tensor["answers"].as_array().unwrap());
    let of_type = answers.filter(|answer| answer["data_type"] == data_type);
    let texts: Vec<&str> = of_type.map(|of_type| of_type["answer"].as_str().unwrap()).collect();
    let best = ["native", "emulated"].into_iter().find(|it| texts.contains(it));
    best.unwrap_or("no").to_owned()
}

const ANSWERS_THAT_DIFFER: [(&str, &str); 3] =
    [("ELEMENT_WISE_ADD", "FLOAT16"), ("ELEMENT_WISE_ADD", "INT64"), ("CAST", "UINT8")];

#[test]
fn types_are_native_where_the_selected_kernels_use_the_hardware_s() {
    let plain = ["--profile", "no-optional-features"];
    let rdna3 = ["--profile", "amd-radeon-rx-7800-xt-radv-navi32-24-0-99-arch"];
    for (operator, data_type) in ANSWERS_THAT_DIFFER {
        assert_eq!(answer(&plain, operator, data_type), "emulated", "{operator} {data_type}");
        assert_eq!(answer(&rdna3, operator, data_type), "native", "{operator} {data_type}");
    }
    // Copies move words, whatever the hardware has.
    assert_eq!(answer(&rdna3, "ELEMENT_WISE_IDENTITY", "INT64"), "emulated");
    let table = stdout(without_device(&["support", "CAST", plain[0], plain[1]]));
    assert!(table.contains("two 32-bit words; native with shaderInt64"), "{table}");
    assert!(table.lines().all(|line| line.chars().count() <= 100), "{table}");
}

/// One of the two drivers has the optional types, the other has none of them.
#[test]
fn devices_answer_by_the_types_that_they_have() {
    let devices = std::env::var("DML_TEST_DEVICES").unwrap_or_default();
    for device in devices.split(',').filter(|name| !name.is_empty()) {
        let expected = if device == "llvmpipe" { "native" } else { "emulated" };
        for (operator, data_type) in ANSWERS_THAT_DIFFER {
            let found = answer(&["--device", device], operator, data_type);
            assert_eq!(found, expected, "{device}: {operator} {data_type}");
        }
    }
}

#[test]
fn an_operator_above_the_level_is_said_to_be_before_its_types() {
    let at = |level| {
        let arguments = ["support", "DIAGONAL_MATRIX", "--profile", "api-1-1", "--feature-level"];
        stdout(without_device(&[&arguments[..], &[level]].concat()))
    };
    let below = at("1_0");
    let level = "created at feature level 1_0\nDIAGONAL_MATRIX needs feature level 2_0\n";
    assert!(below.contains(level), "{below}");
    assert_eq!(row(&below, "INT8")[3], "2_1");
    assert!(!at("2_0").contains("DIAGONAL_MATRIX needs"));
}

#[test]
fn every_operator_has_a_line_of_at_most_100_columns() {
    let table = stdout(without_device(&["support", "--profile", "apple-m1-0-2-1911-osx-11-2"]));
    for schema in dml::core::operators::OPERATORS {
        assert_eq!(row(&table, schema.name).len(), 13, "{}", schema.name);
    }
    let eye = row(&table, "DIAGONAL_MATRIX");
    assert_eq!((eye[0], eye[8], eye[11]), ("N", "E", "-"), "{eye:?}");
    assert!(table.contains("INT64: two 32-bit words"), "{table}");
    assert!(table.lines().all(|line| line.chars().count() <= 100), "{table}");
}

#[test]
fn programs_get_every_answer_with_its_reason() {
    let json = stdout(without_device(&[
        "support",
        "DIAGONAL_MATRIX",
        "--json",
        "--profile",
        "no-optional-features",
        "--feature-level",
        "5_1",
    ]));
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["feature_level"], "5_1");
    assert_eq!(json["operators"].as_array().unwrap().len(), 1);
    let tensors = &json["operators"][0]["tensors"][0];
    assert_eq!(tensors["fields"][0], "OutputTensor");
    let answers = tensors["answers"].as_array().unwrap();
    assert_eq!(answers.len(), 13 * 8);
    let find = |data_type: &str, rank: u64| {
        let is_it = |it: &&Value| it["data_type"] == data_type && it["rank"] == rank;
        answers.iter().find(is_it).unwrap()
    };
    let emulated = find("INT64", 2);
    assert_eq!(emulated["answer"], "emulated");
    assert_eq!(emulated["method"], "two 32-bit words");
    assert_eq!(find("FLOAT32", 2)["answer"], "native");
    assert_eq!(find("FLOAT32", 5)["answer"], "never");
}

#[test]
fn without_a_profile_the_best_device_answers() {
    let table = stdout(dml().args(["support", "diagonal_matrix"]).output().unwrap());
    assert_eq!(row(&table, "INT32")[1], "native");
    fails(without_device(&["support"]), 3, "mesa-vulkan-drivers");
    let with_device = ["support", "--profile", "api-1-1", "--device", "0"];
    fails(without_device(&with_device), 3, "mesa-vulkan-drivers");
}

#[test]
fn wrong_names_are_2_with_what_is_accepted() {
    for (given, suggested) in [
        ("gather_", "(did you mean GATHER, GATHER_ND, GATHER_ND1 or GATHER_ELEMENTS?)"),
        ("SOFTMAX", "(did you mean ACTIVATION_SOFTMAX, ACTIVATION_SOFTMAX1, "),
        ("RELU", "(did you mean ACTIVATION_RELU, ACTIVATION_RELU_GRAD, "),
        ("DIAGONAL", "(did you mean DIAGONAL_MATRIX or DIAGONAL_MATRIX1?)"),
        ("quux", "unknown operator; accepted: DirectML's names"),
    ] {
        fails(without_device(&["support", given]), 2, suggested);
    }
    fails(without_device(&["support", "--profile", "riva-128"]), 2, "storage-range-16-kib");
    fails(without_device(&["support", "--profile", "adreno"]), 2, "amd, apple, intel");
    fails(without_device(&["support", "--profile", "gefroce"]), 2, "(did you mean nvidia-geforce");
    let strategy = ["diag", "--sizes", "3,3", "--strategy", "fil-and-scatter"];
    fails(without_device(&strategy), 2, "(did you mean fill-and-scatter?)");
    let data_type = ["diag", "--sizes", "3,3", "--type", "flot16"];
    fails(without_device(&data_type), 2, "(did you mean FLOAT16?)");
    fails(without_device(&["support", "--profile", "no/file.toml"]), 2, "cannot read profile");
    fails(without_device(&["support", "--feature-level", "7_0"]), 2, "accepted: 1_0");
    for arguments in [&["devices"][..], &["support"], &["diag", "--sizes", "3,3"]] {
        let mut command = dml();
        let output = command.args(arguments).env("DML_PROFILE", "riva-128").output().unwrap();
        fails(output, 2, "no profile is called 'riva-128'");
    }
}

#[test]
fn a_file_of_one_s_own_is_a_profile() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    let path = path.to_str().unwrap();
    std::fs::write(path, "about = \"mine\"\n[features]\nshaderInt64 = true\n").unwrap();
    let table = stdout(without_device(&["support", "diagonal_matrix", "--profile", path]));
    assert!(table.contains("profile mine: mine"), "{table}");
    std::fs::write(path, "about = \"mine\"\n[limits]\nmaxBufferSize = \"1\"\n").unwrap();
    let output = without_device(&["support", "--profile", path]);
    fails(
        output,
        2,
        "mine.toml: limits.maxBufferSize: \"1\" is not accepted; accepted: an integer",
    );
}

#[test]
fn devices_are_shown_as_the_profile_leaves_them() {
    let arguments = ["devices", "--json", "--profile", "storage-range-16-kib"];
    let by_argument = stdout(dml().args(arguments).output().unwrap());
    let mut command = dml();
    command.args(&arguments[..2]).env("DML_PROFILE", arguments[3]);
    assert_eq!(stdout(command.output().unwrap()), by_argument);
    let json: Value = serde_json::from_str(&by_argument).unwrap();
    for device in json.as_array().unwrap() {
        assert_eq!(device["limits"]["maxStorageBufferRange"], 16_384);
    }
    let list = dml().args(["devices", "--profile", "rtx-5090"]).output().unwrap();
    assert!(
        stdout(list)
            .contains("stated by the profile, but missing:\n     Vulkan 1.4.341 (it is 1.3")
    );
}

#[test]
fn diag_runs_under_a_profile() {
    for profile in ["no-transfer-usage", "api-1-1", "groups-one-dimensional"] {
        let arguments = ["diag", "--sizes", "1,3", "--type", "int8", "--offset", "2"];
        let output = dml().args(arguments).args(["--profile", profile]).output().unwrap();
        assert_eq!(stdout(output), "[[0 0 1]]\n");
    }
    let kernel = ["diag", "--sizes", "100,100", "--strategy", "kernel"];
    let whole = stdout(dml().args(kernel).output().unwrap());
    let parts = dml().args(kernel).args(["--profile", "storage-range-16-kib"]).output().unwrap();
    assert_eq!(stdout(parts), whole);
    let folder = tempfile::tempdir().unwrap();
    let nothing = folder.path().join("shows-nothing.toml");
    std::fs::write(&nothing, "about = \"a\"\n[limits]\nmaxStorageBufferRange = 4\n").unwrap();
    let output = dml().args(kernel).arg("--profile").arg(nothing).output().unwrap();
    fails(output, 1, "exceed maxStorageBufferRange less");
    let output = dml().args(["diag", "--sizes", "1,1", "--profile", "rtx-5090"]).output().unwrap();
    assert!(text(&output.stderr).starts_with("note: the profile states more than this device has"));
    assert_eq!(stdout(output), "[[1]]\n");
}

#[test]
fn the_page_of_operators_is_what_the_command_prints() {
    let page = stdout(without_device(&["support", "--implemented"]));
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operators.md");
    let committed = std::fs::read_to_string(path).unwrap();
    assert!(
        committed == page,
        "run: cargo run -p dml-cli -- support --implemented > docs/operators.md"
    );
    let rows = page.lines().filter(|line| line.starts_with("| ") && line.contains(" | 1_0 | "));
    assert!(rows.count() > 50 && page.contains("177 of DirectML's 177 operators"), "{page}");
    let output = without_device(&["support", "--implemented", "--json"]);
    fails(output, 2, "cannot be used with");
}

#[test]
fn the_page_of_onnx_s_operators_is_what_the_command_prints() {
    let page = stdout(without_device(&["support", "--onnx"]));
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/onnx-operators.md");
    let committed = std::fs::read_to_string(path).unwrap();
    assert!(
        committed == page,
        "run: cargo run -p dml-cli -- support --onnx > docs/onnx-operators.md"
    );
    assert!(page.contains("\n| Trilu | 14 | DIAGONAL_MATRIX1 |\n"), "{page}");
    assert!(page.contains("StringSplit, TfIdfVectorizer | strings are not run |"), "{page}");
}
