//! Malicious files that need inputs, a folder or a second file. Files that are refused by themselves are tested
//! in `dml-cli`, under limits of the operating system.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::hostile::resource;
use common::onnx::{Graph, Message, initializer, ints, model, node, outputs, repeated, value};
use common::{data, int64};
use dml_import::{Inputs, Model};

#[track_caller]
fn refused(bytes: impl Into<Vec<u8>>, inputs: &Inputs, message: &str) {
    let error = match Model::from_bytes(bytes.into()) {
        Ok(model) => {
            let _ = model.inspect(inputs);
            model.bind(inputs).map(|_| ()).unwrap_err()
        }
        Err(error) => error,
    };
    let error = error.to_string();
    assert!(error.contains(message), "{error}");
    assert!(!error.contains('\n') && error.len() < 600, "{error}");
}

#[test]
fn huge_declared_sizes_are_refused() {
    let graph = Graph {
        nodes: vec![node("EyeLike", &["x"], &["y"], &[])],
        inputs: vec![value("x", 1, &[None, None])],
        outputs: outputs(),
        ..Graph::default()
    };
    let inputs = Inputs::new().with_shape("x", [u64::MAX, u64::MAX]);
    refused(model(13, graph), &inputs, "has too many elements");
    // The most values that a buffer may have take no memory before a run.
    let values = resource("\"initialValues\": { \"valueCount\": 1073741824, \"value\": 1 }");
    assert!(Model::from_bytes(values).unwrap().bind(&Inputs::new()).is_ok());
}

#[test]
fn truncated_files_are_refused_wherever_they_end() {
    for case in ["onnx_torch_export_eye_n_m/model.onnx", "ov_converted_from_onnx_dyn_NM/model.xml"]
    {
        let whole = std::fs::read(data(&format!("models/{case}"))).unwrap();
        for end in 0..whole.len() - 1 {
            let result = Model::from_bytes(whole[..end].to_vec());
            // A truncated protobuf file may be valid, but then lacks something.
            let bound = result.and_then(|it| it.bind(&Inputs::new().with_shape("x", [2, 3, 4])));
            assert!(bound.is_err(), "{case}: {end}");
        }
    }
}

#[test]
fn long_chains_do_not_exhaust_the_stack() {
    let chain = |op: fn(&str, &str, usize) -> Message, opset| {
        let nodes = (0..50_000).map(|index| {
            let (from, to) = (format!("c{index}"), format!("c{}", index + 1));
            op(&from, &to, index)
        });
        let mut nodes: Vec<Message> = nodes.collect();
        nodes.push(node("Identity", &["c50000"], &["y"], &[]));
        let inputs = vec![value("c0", 7, &[Some(2), Some(2)])];
        model(opset, Graph { nodes, inputs, outputs: outputs(), ..Graph::default() })
    };
    let inputs = Inputs::new().with_tensor("c0", int64(&[2, 2], &[1, 2, 3, 4]));
    let cast = |from: &str, to: &str, index| {
        node("Cast", &[from], &[to], &[("to", if index % 2 == 0 { 6 } else { 7 })])
    };
    let operators = |bytes| {
        let program = Model::from_bytes(bytes).unwrap().bind(&inputs).unwrap();
        program.operators().iter().map(|operator| operator.operators().len()).sum::<usize>()
    };
    assert_eq!(operators(chain(cast, 13)), 50_000);
    let trilu = |from: &str, to: &str, _| node("Trilu", &[from], &[to], &[]);
    assert_eq!(operators(chain(trilu, 14)), 50_000);
    let identity = |from: &str, to: &str, _| node("Identity", &[from], &[to], &[]);
    assert_eq!(operators(chain(identity, 13)), 0);
}

/// Each output is a permutation of 2^16 elements.
#[test]
fn outputs_that_are_no_work_for_a_device_are_work_on_the_host() {
    let names: Vec<String> = (0..2000).map(|index| format!("y{index}")).collect();
    let graph = Graph {
        nodes: names.iter().map(|name| node("Transpose", &["t"], &[name], &[])).collect(),
        initializers: vec![initializer("t", &[256, 256], &[1; 256 * 256])],
        outputs: names.iter().map(|name| value(name, 7, &[])).collect(),
        ..Graph::default()
    };
    refused(model(13, graph), &Inputs::new(), "computes more on the host than");
}

#[test]
fn scripts_neither_read_nor_write_outside_of_their_folder() {
    let folder = tempfile::tempdir().unwrap();
    let script = |source: &str, target: &str| {
        let json = serde_json::json!({
            "resources": {
                "a": { "initialValuesDataType": "UINT8", "initialValues": { "sourcePath": source } }
            },
            "dispatchables": {},
            "commands": [{ "type": "writeFile", "resource": "a", "targetPath": target }]
        });
        let path = folder.path().join("model.json");
        std::fs::write(&path, json.to_string()).unwrap();
        let bound = Model::read(&path).and_then(|it| it.bind(&Inputs::new()));
        bound.map(|_| ()).map_err(|error| error.to_string())
    };
    std::fs::write(folder.path().join("a.bin"), b"abcd").unwrap();
    assert_eq!(script("a.bin", "out/b.bin"), Ok(()));
    for outside in ["../a.bin", "/etc/passwd", "..\\a.bin", "C:\\a.bin"] {
        let error = script(outside, "b.bin").unwrap_err();
        assert!(error.contains("leaves the model's folder"), "{error}");
        let error = script("a.bin", outside).unwrap_err();
        assert!(error.contains("is not such a path"), "{error}");
    }
}

#[test]
fn what_is_no_model_is_refused() {
    for bytes in [&b""[..], b"\0", b"PK\x03\x04", b"hello", b"{}", b"{", b"<", b"<x/>", b"//"] {
        let error = Model::from_bytes(bytes.to_vec()).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("not a") || error.contains("is not "), "{error}");
    }
    let error = Model::read(data("models")).unwrap_err().to_string();
    assert!(error.ends_with("models: not a regular file"), "{error}");
}

/// The budget of an iteration counts values and attribute entries as well as nodes.
#[test]
fn loops_take_no_more_time_or_memory_than_their_limit() {
    let endless = |nodes: Vec<Message>, results: &[&str]| {
        let body = Graph {
            nodes,
            inputs: vec![value("i", 7, &[]), value("on", 9, &[])],
            outputs: results.iter().map(|it| value(it, 7, &[])).collect(),
            ..Graph::default()
        };
        let names: Vec<String> = (1..results.len()).map(|it| format!("y{it}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let on = Message::default().int(2, 9).text(8, "c").bytes(9, &[1]);
        let graph = Graph {
            nodes: vec![repeated("Loop", &["", "c"], &names, body, &[])],
            initializers: vec![on],
            outputs: names.first().map(|it| value(it, 7, &[])).into_iter().collect(),
            ..Graph::default()
        };
        model(12, graph)
    };
    let refused = |bytes: Vec<u8>| {
        let bound = Model::from_bytes(bytes).unwrap().bind(&Inputs::new());
        let error = bound.unwrap_err().to_string();
        let many = "all of their iterations together have more than 1048576 values";
        assert!(error.contains(many), "{error}");
    };
    let results: Vec<&str> = ["on"].into_iter().chain(std::iter::repeat_n("i", 100_000)).collect();
    refused(endless(vec![], &results));
    // Nothing uses these nodes, but their values count.
    let unused = (0..100_000).map(|it| node("Neg", &["i"], &[&format!("v{it}")], &[]));
    refused(endless(unused.collect(), &["on", "i"]));
    let wide = vec!["i"; 100_000];
    let sum = vec![node("Sum", &wide, &["s"], &[])];
    refused(endless(sum, &["on", "s"]));
    let axes = node("Unsqueeze", &["i"], &["u"], &[]).message(5, ints("axes", &[0; 100_000]));
    refused(endless(vec![axes], &["on", "u"]));
}

#[test]
fn a_scan_of_a_vast_dimension_is_refused_before_it_is_divided() {
    for opset in [8, 9] {
        let body = Graph {
            inputs: vec![value("e", 1, &[])],
            outputs: vec![value("e", 1, &[])],
            ..Graph::default()
        };
        let count = Message::default().text(1, "num_scan_inputs").int(3, 1).int(20, 2);
        let given: &[&str] = if opset == 8 { &["", "x"] } else { &["x"] };
        let graph = Graph {
            nodes: vec![repeated("Scan", given, &["y"], body, &[count])],
            inputs: vec![value("x", 1, &[None, None])],
            outputs: outputs(),
            ..Graph::default()
        };
        let inputs = Inputs::new().with_shape("x", [1 << 40, 1]);
        refused(model(opset, graph), &inputs, "have more than 1048576 values");
    }
}

#[test]
fn loops_are_not_nested_without_end() {
    let mut nodes = vec![];
    for depth in 0..9 {
        let body = Graph {
            nodes,
            inputs: vec![value(&format!("i{depth}"), 7, &[]), value(&format!("c{depth}"), 9, &[])],
            outputs: vec![value(&format!("c{depth}"), 9, &[]), value(&format!("i{depth}"), 7, &[])],
            ..Graph::default()
        };
        // Each body is needed by the enclosing one.
        let result = if depth == 8 { "y".to_owned() } else { format!("v{depth}") };
        let body = match depth {
            0 => body,
            _ => Graph {
                outputs: vec![
                    value(&format!("c{depth}"), 9, &[]),
                    value(&format!("v{}", depth - 1), 7, &[]),
                ],
                ..body
            },
        };
        nodes = vec![repeated("Loop", &["m", ""], &[&result], body, &[])];
    }
    let initializers = vec![initializer("m", &[], &[1])];
    let graph = Graph { nodes, initializers, outputs: outputs(), ..Graph::default() };
    refused(model(13, graph), &Inputs::new(), "functions and subgraphs are nested deeper than 8");
}
