//! `dml run` and `dml inspect`: their output, their files, and their exit codes.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../../dml-import/tests/common/onnx.rs"]
#[allow(dead_code, reason = "each test file uses its own part")]
mod onnx;

mod common;

use common::{dml, failed, model, npy, stdout, text, without_device};

/// A refusal by the model or the device is one line.
#[track_caller]
fn fails(arguments: &[&str], code: i32, message: &str) {
    let output = dml(arguments);
    failed(&output, code, message);
    assert!(code != 1 || text(&output.stderr).lines().count() == 1, "{output:?}");
}

#[test]
fn a_shape_is_enough_for_eye_like() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("new/folder");
    let model = model("onnx_dyn_NM/model.onnx");
    let printed =
        stdout(dml(&["run", &model, "--shape", "x=2x3", "--output-dir", out.to_str().unwrap()]));
    assert!(printed.starts_with("y: float32 [2, 3] -> "), "{printed}");
    let (shape, values) = npy::<f32>(out.join("y.npy"));
    assert_eq!(shape, [2, 3]);
    assert_eq!(
        values.iter().sum::<f32>(),
        values.iter().filter(|value| **value == 1.0).count() as f32
    );
}

#[test]
fn bfloat16_is_written_as_its_pattern_and_bool_as_bool() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let run = |case: &str| {
        stdout(dml(&["run", &model(case), "--output-dir", out]));
    };
    run("onnx_op22_f32_to_bfloat16_3x5_k1/model.onnx");
    let (_, values) = npy::<u16>(folder.path().join("y.npy"));
    assert_eq!(values.iter().filter(|value| **value == 0x3F80).count(), 3);
    run("onnx_op22_f32_to_bool_3x5_k1/model.onnx");
    let (_, values) = npy::<bool>(folder.path().join("y.npy"));
    assert_eq!(values.iter().filter(|value| **value).count(), 3);
}

#[test]
fn inputs_come_from_files() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let k = format!("k={}", model("ov_k_param_i64max/set0_in0.npy"));
    let path = model("ov_k_param_i64max/model.xml");
    let printed = stdout(dml(&["run", &path, "--input", &k, "--output-dir", out]));
    assert!(printed.contains("[[0 0 0 0]"), "{printed}");
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
            { "type": "writeFile", "resource": "Out", "targetPath": "a/b/out.bin" },
        ] }"#;
    std::fs::write(&path, json).unwrap();
    let out = folder.path().to_str().unwrap();
    let arguments = ["run", path.to_str().unwrap(), "--output-dir", out];
    // Without copies, what is printed before a dispatch takes a submission of its own.
    for profile in [&[][..], &["--profile", "no-transfer-usage"]] {
        let printed = stdout(dml(&[&arguments, profile].concat()));
        assert!(printed.starts_with("Resource 'Out': -1, -1, -1, -1, "), "{printed}");
        let after = "Resource 'Out': 0, 2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2\n";
        assert!(printed.contains(after), "{printed}");
    }
    let (shape, values) = npy::<i64>(folder.path().join("out.npy"));
    assert_eq!((shape, values.iter().sum()), (vec![3, 4], 6));
    assert_eq!(std::fs::read(folder.path().join("a/b/out.bin")).unwrap().len(), 96);
}

#[test]
fn inspect_tells_what_would_run_each_node_without_a_device() {
    let inspect = |path: &str| stdout(without_device(&["inspect", path]));
    let printed = inspect(&model("onnx_dyn_NM/model.onnx"));
    assert!(printed.contains("format: ONNX"), "{printed}");
    assert!(printed.contains("x float32 [N, M]"), "{printed}");
    assert!(printed.contains("DIAGONAL_MATRIX, feature level 2_0 and later"), "{printed}");
    let printed = inspect(&model("ov_eye_multiply/model.xml"));
    assert!(printed.contains("ELEMENT_WISE_MULTIPLY, feature level 1_0 and later"), "{printed}");
}

/// Open sizes have the model's names, and each input that needs an option has one in the report.
#[test]
fn inspect_says_what_is_open_and_how_to_give_it() {
    let lines = |path: &str, arguments: &[&str]| {
        let model = model(path);
        let printed = stdout(dml(&[&["inspect", &model], arguments].concat()));
        printed.lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>()
    };
    let named = lines("onnx_torch_export_eye_n_m/model.onnx", &[]);
    let has = |lines: &[String], wanted: &str| {
        assert!(lines.iter().any(|line| line == wanted), "{wanted}: {lines:?}");
    };
    let x = "x float32 [A, Bd, Cd], needed: --shape x=AxBdxCd or --input x=FILE.npy";
    has(&named, x);
    has(&named, "y float32 [Bd, 3]");
    let bound = lines("onnx_torch_export_eye_n_m/model.onnx", &["--shape", "x=2x4x5"]);
    has(&bound, "x float32 [2, 4, 5]");
    has(&bound, "y float32 [4, 3]");
    let unnamed = lines("ov_converted_from_onnx_dyn_NM/model.xml", &[]);
    has(&unnamed, "x float32 [?, ?], needed: --shape x=?x? or --input x=FILE.npy");
    has(&unnamed, "y float32 [?, ?]");
    let values = lines("ov_params_i32_scalar/model.xml", &[]);
    has(&values, "k int32 [], needed: --input k=FILE.npy or --random");
    let rank = lines("onnx_dyn_unknown_rank/model.onnx", &[]);
    has(&rank, "y float32 [...]");
}

#[test]
fn refusals_are_1_with_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.onnx");
    let nodes = vec![onnx::node("ImageDecoder", &["x"], &["y"], &[])];
    let inputs = vec![onnx::value("x", 1, &[Some(1)])];
    let outputs = vec![onnx::value("y", 1, &[])];
    let graph = onnx::Graph { nodes, inputs, outputs, ..Default::default() };
    std::fs::write(&path, onnx::model(13, graph)).unwrap();
    fails(&["run", path.to_str().unwrap()], 1, "model.onnx: ImageDecoder 'y': not supported: ");
    let hint = "input 'c': not given, and its values are needed; give --input c=FILE.npy";
    fails(&["run", &model("onnx_if_branch/model.onnx")], 1, hint);
    let hint =
        "input 'x': not given, and its shape is needed; give --shape x=NxM or --input x=FILE";
    fails(&["run", &model("onnx_dyn_NM/model.onnx")], 1, hint);
    let hint = "input 'rows': not given, and its shape is needed; give --input rows=FILE.npy";
    fails(&["run", &model("ov_params_i64_dyn1d/model.xml")], 1, hint);
    fails(&["run", "no such file"], 1, "no such file: cannot be read");
    fails(&["inspect", "no such file"], 1, "no such file: cannot be read");
    let dynamic = model("onnx_dyn_NM/model.onnx");
    fails(
        &["run", &dynamic, "--shape", "q=1x1"],
        1,
        "unknown input 'q'; the model's inputs are: x",
    );
    fails(&["run", &dynamic, "--shape", "x=1x1x1"], 1, "is not the declared rank");
    fails(&["run", &dynamic, "--input", "x=no.npy"], 1, "no.npy: cannot be read");
    let int64 = model("onnx_row_1x5_k4/model.onnx");
    fails(&["run", &int64, "--feature-level", "4_0"], 1, "INT64 needs feature level 5_1");
}

/// Outputs whose names lead elsewhere, or that are the same file: each has a file in the folder.
#[test]
fn hostile_names_of_outputs_stay_in_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let names = ["../../a", "..\\..\\a", "/a", "\u{1b}[31ma\n"];
    let nodes = names.iter().map(|name| onnx::node("EyeLike", &["x"], &[name], &[]));
    let outputs = names.iter().map(|name| onnx::value(name, 1, &[]));
    let inputs = vec![onnx::value("x", 1, &[Some(1), Some(1)])];
    let (nodes, outputs) = (nodes.collect(), outputs.collect());
    let path = folder.path().join("model.onnx");
    let graph = onnx::Graph { nodes, outputs, inputs, ..Default::default() };
    std::fs::write(&path, onnx::model(13, graph)).unwrap();
    let out = folder.path().join("deep/out");
    let run = ["run", path.to_str().unwrap(), "--output-dir", out.to_str().unwrap()];
    let printed = stdout(dml(&run));
    assert!(!printed.contains('\u{1b}'), "{printed}");
    let files = std::fs::read_dir(&out).unwrap().map(|it| it.unwrap().file_name());
    let mut files: Vec<String> = files.map(|file| file.into_string().unwrap()).collect();
    files.sort();
    assert_eq!(files, [".._.._a.npy", ".._.._a_2.npy", "__31ma_.npy", "_a.npy"]);
    let beside = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!((beside, std::fs::read_dir(folder.path().join("deep")).unwrap().count()), (2, 1));
}

/// The error about a file that is not a model names the kind of file.
#[test]
fn a_foreign_file_is_called_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |name: &str, bytes: &[u8], message: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        for command in ["run", "inspect"] {
            fails(&[command, path.to_str().unwrap()], 1, message);
        }
    };
    let refused_as = |name: &str, bytes: &[u8], kind: &str| {
        let expected = "expected ONNX, OpenVINO IR .xml or DxDispatch .json\n";
        refused(name, bytes, &format!("{name}: not a model file ({kind}); {expected}"));
    };
    refused_as("a.json", b"[1, 2]", "JSON array");
    refused_as("a.txt", b"import torch\n", "text beginning with 'import torch'");
    refused_as("a.npy", b"\x93NUMPY\x01\x00", "NumPy array, .npy");
    let no_script = "is JSON, but not a DxDispatch model: its fields are ir_version, nodes; accepted: \
                     resources, dispatchables, commands";
    refused("b.json", br#"{"nodes": [], "ir_version": 8}"#, no_script);
    refused("a.xml", b"<html/>", "<html> is not OpenVINO IR; accepted: <net>");
}

#[test]
fn an_output_that_cannot_be_written_is_1() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "kept").unwrap();
    let model = model("onnx_empty_0x3/model.onnx");
    fails(&["run", &model, "--output-dir", file.to_str().unwrap()], 1, "cannot make ");
    let below = file.join("below");
    fails(&["run", &model, "--output-dir", below.to_str().unwrap()], 1, "cannot make ");
    assert_eq!(std::fs::read(&file).unwrap(), b"kept");
    // A folder where the file is to be.
    std::fs::create_dir(folder.path().join("y.npy")).unwrap();
    fails(&["run", &model, "--output-dir", folder.path().to_str().unwrap()], 1, "cannot write ");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[cfg(unix)]
#[test]
fn a_folder_without_permission_is_1() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let closed = std::fs::Permissions::from_mode(0o555);
    std::fs::set_permissions(folder.path(), closed).unwrap();
    let arguments = ["run", &model("onnx_empty_0x3/model.onnx"), "--output-dir"];
    let arguments = [arguments.as_slice(), &[folder.path().to_str().unwrap()]].concat();
    // An administrator may write everywhere.
    match std::fs::write(folder.path().join("probe"), "") {
        Ok(()) => assert_eq!(dml(&arguments).status.code(), Some(0)),
        Err(_) => fails(&arguments, 1, "cannot write "),
    }
}

/// A model gives the same bytes under a profile of a less capable device.
#[test]
fn profiles_do_not_change_what_a_model_gives() {
    let profiles = ["no-optional-features", "no-transfer-usage", "api-1-1", "storage-range-16-kib"];
    let models = ["onnx_op22_f32_to_int8_3x5_k1", "onnx_op22_f32_to_double_3x5_k1"];
    let large = ["onnx_large_1031x77_i64_k13"];
    for case in models.iter().chain(&large) {
        let expected = std::fs::read(model(&format!("{case}/set0_out0.npy"))).unwrap();
        for profile in profiles {
            let folder = tempfile::tempdir().unwrap();
            let (path, out) = (model(&format!("{case}/model.onnx")), folder.path());
            let arguments = ["run", &path, "--profile", profile, "--output-dir"];
            stdout(dml(&[arguments.as_slice(), &[out.to_str().unwrap()]].concat()));
            let written = std::fs::read(out.join("y.npy")).unwrap();
            assert!(written == expected, "{case} under {profile}");
        }
    }
    let model = model("onnx_dyn_NM/model.onnx");
    fails(
        &["run", &model, "--shape", "x=1x1", "--profile", "no such profile"],
        2,
        "no such profile",
    );
}

#[test]
fn no_device_is_3() {
    let run = ["run", &model("onnx_dyn_NM/model.onnx"), "--shape", "x=2x2"];
    let output = without_device(&run);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    let error = text(&output.stderr);
    assert!(error.starts_with("error: no usable Vulkan device"), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
}

#[test]
fn wrong_usage_is_2() {
    let dynamic = model("onnx_dyn_NM/model.onnx");
    fails(&["run"], 2, "MODEL");
    fails(&["inspect"], 2, "MODEL");
    fails(&["run", &dynamic, "--shape", "x"], 2, "no '=' between the input's name and its value");
    fails(&["run", &dynamic, "--shape", "x=axb"], 2, "'a' is not a size");
    fails(&["run", &dynamic, "--shape", "x=1x1", "--shape", "x=2x2"], 2, "given twice");
    fails(&["run", &dynamic, "--feature-level", "9_9"], 2, "accepted: 1_0");
}

#[test]
fn an_empty_result_needs_no_device() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    stdout(without_device(&["run", &model("onnx_empty_0x3/model.onnx"), "--output-dir", out]));
    let (shape, values) = npy::<f32>(folder.path().join("y.npy"));
    assert_eq!((shape, values.len()), (vec![0, 3], 0));
}
