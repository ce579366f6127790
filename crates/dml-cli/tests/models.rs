//! `dml run` and `dml inspect`: what they print, what they write, and their exit codes.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn model(path: &str) -> String {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dml-import/tests/data/models");
    models.join(path).to_str().unwrap().to_owned()
}

/// Runs `dml`; `run` under the validation layer where `cargo xtask test` asks for it.
fn dml(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dml"));
    command.args(arguments);
    let required = std::env::var("DML_TEST_VALIDATION").is_ok_and(|value| value == "required");
    if arguments.first() == Some(&"run") && required {
        command.arg("--validation");
    }
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[track_caller]
fn fails(arguments: &[&str], code: i32, message: &str) {
    let output = dml(arguments);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {error}");
    assert!(error.contains(message), "{arguments:?}: {error}");
    if code == 1 {
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

fn npy<T: npyz::Deserialize>(path: PathBuf) -> (Vec<u64>, Vec<T>) {
    let bytes = std::fs::read(path).unwrap();
    let npy = npyz::NpyFile::new(bytes.as_slice()).unwrap();
    (npy.shape().to_vec(), npy.into_vec().unwrap())
}

#[test]
fn a_shape_is_enough_for_eye_like() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("new/folder");
    let model = model("onnx_dyn_NM/model.onnx");
    let output = dml(&["run", &model, "--shape", "x=2x3", "--output-dir", out.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    assert!(printed.starts_with("y: float32 [2, 3] -> "), "{printed}");
    let (shape, values) = npy::<f32>(out.join("y.npy"));
    assert_eq!(shape, [2, 3]);
    assert_eq!(values.iter().sum::<f32>(), values.iter().filter(|it| **it == 1.0).count() as f32);
}

#[test]
fn bfloat16_is_written_as_its_pattern_and_bool_as_bool() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let run = |case: &str| {
        let output = dml(&["run", &model(case), "--output-dir", out]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    };
    run("onnx_op22_f32_to_bfloat16_3x5_k1/model.onnx");
    let (_, values) = npy::<u16>(folder.path().join("y.npy"));
    assert_eq!(values.iter().filter(|it| **it == 0x3F80).count(), 3);
    run("onnx_op22_f32_to_bool_3x5_k1/model.onnx");
    let (_, values) = npy::<bool>(folder.path().join("y.npy"));
    assert_eq!(values.iter().filter(|it| **it).count(), 3);
}

#[test]
fn inputs_come_from_files() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let k = format!("k={}", model("ov_k_param_i64max/set0_in0.npy"));
    let path = model("ov_k_param_i64max/model.xml");
    let output = dml(&["run", &path, "--input", &k, "--output-dir", out]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("[[0 0 0 0]"), "{}", text(&output.stdout));
}

#[test]
fn scripts_print_and_write() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.json");
    let json = r#"{
        "resources": { "Out": { "initialValuesDataType": "INT64",
            "initialValues": { "valueCount": 12, "value": -1 } } }, // a comment
        "dispatchables": { "eye": { "type": "DML_OPERATOR_DIAGONAL_MATRIX", "desc": {
            "OutputTensor": { "DataType": "INT64", "Sizes": [3, 4] }, "Offset": 1, "Value": 2 } } },
        "commands": [
            { "type": "print", "resource": "Out" },
            { "type": "dispatch", "dispatchable": "eye", "bindings": { "OutputTensor": "Out" } },
            { "type": "print", "resource": "Out" },
            { "type": "writeFile", "resource": "Out", "targetPath": "out.npy", "dimensions": [3, 4] },
            { "type": "writeFile", "resource": "Out", "targetPath": "out.bin" },
        ] }"#;
    std::fs::write(&path, json).unwrap();
    let out = folder.path().to_str().unwrap();
    let output = dml(&["run", path.to_str().unwrap(), "--output-dir", out]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    assert!(printed.starts_with("Resource 'Out': -1, -1, -1, -1, "), "{printed}");
    assert!(printed.contains("Resource 'Out': 0, 2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2\n"), "{printed}");
    let (shape, values) = npy::<i64>(folder.path().join("out.npy"));
    assert_eq!((shape, values.iter().sum()), (vec![3, 4], 6));
    assert_eq!(std::fs::read(folder.path().join("out.bin")).unwrap().len(), 96);
}

#[test]
fn inspect_tells_what_would_run_each_node_without_a_device() {
    let inspect = |path: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dml"));
        let command = command.args(["inspect", path]).env("VK_DRIVER_FILES", "no-such-file");
        text(&command.env("VK_ICD_FILENAMES", "no-such-file").output().unwrap().stdout)
    };
    let printed = inspect(&model("onnx_dyn_NM/model.onnx"));
    assert!(printed.contains("format: ONNX"), "{printed}");
    assert!(printed.contains("x float32 [N, M]"), "{printed}");
    assert!(printed.contains("DIAGONAL_MATRIX, feature level 2_0 and later"), "{printed}");
    let printed = inspect(&model("ov_eye_multiply/model.xml"));
    assert!(printed.contains("does not run: Multiply"), "{printed}");
    assert!(printed.contains("not supported"), "{printed}");
}

#[test]
fn refusals_are_1_with_one_line() {
    fails(&["run", &model("onnx_if_branch/model.onnx")], 1, "model.onnx: If 'y': not supported: ");
    fails(&["run", &model("onnx_dyn_NM/model.onnx")], 1, "input 'x': not given, and its shape is");
    fails(&["run", "no such file"], 1, "no such file: cannot be read");
    fails(&["inspect", "no such file"], 1, "no such file: cannot be read");
    let dynamic = model("onnx_dyn_NM/model.onnx");
    fails(&["run", &dynamic, "--shape", "q=1x1"], 1, "input 'q': it is no input of the model");
    fails(&["run", &dynamic, "--shape", "x=1x1x1"], 1, "is not the declared rank");
    fails(&["run", &dynamic, "--input", "x=no.npy"], 1, "no.npy: cannot be read");
    let int64 = model("onnx_row_1x5_k4/model.onnx");
    fails(&["run", &int64, "--feature-level", "4_0"], 1, "INT64 needs feature level 5_1");
}

#[test]
fn wrong_usage_is_2() {
    let dynamic = model("onnx_dyn_NM/model.onnx");
    fails(&["run"], 2, "MODEL");
    fails(&["inspect"], 2, "MODEL");
    fails(&["run", &dynamic, "--shape", "x"], 2, "there is no '='");
    fails(&["run", &dynamic, "--shape", "x=axb"], 2, "'a' is no size");
    fails(&["run", &dynamic, "--shape", "x=1x1", "--shape", "x=2x2"], 2, "given twice");
    fails(&["run", &dynamic, "--feature-level", "9_9"], 2, "accepted: 1_0");
}

#[test]
fn an_empty_result_needs_no_device() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_dml"));
    let arguments = ["run", &model("onnx_empty_0x3/model.onnx"), "--output-dir"];
    let command = command.args(arguments).arg(folder.path()).env("VK_DRIVER_FILES", "no-such-file");
    let output = command.env("VK_ICD_FILENAMES", "no-such-file").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let (shape, values) = npy::<f32>(folder.path().join("y.npy"));
    assert_eq!((shape, values.len()), (vec![0, 3], 0));
}
