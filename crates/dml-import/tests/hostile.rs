//! Files that try to do harm: each is refused at once, in one line, without memory in proportion to
//! what it declares.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::onnx::{
    Graph, Message, circle, initializer, model, node, of_shape, outputs, value, vast_initializer,
};
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
fn truncated_files_are_refused_wherever_they_end() {
    for case in ["onnx_torch_export_eye_n_m/model.onnx", "ov_converted_from_onnx_dyn_NM/model.xml"]
    {
        let whole = std::fs::read(data(&format!("models/{case}"))).unwrap();
        for end in 0..whole.len() - 1 {
            let result = Model::from_bytes(whole[..end].to_vec());
            // A part of a protobuf file can be a whole one, which then lacks something.
            let bound = result.and_then(|it| it.bind(&Inputs::new().with_shape("x", [2, 3, 4])));
            assert!(bound.is_err(), "{case}: {end}");
        }
    }
}

#[test]
fn nodes_in_a_circle_are_refused() {
    refused(circle(), &Inputs::new(), "nodes use each other's outputs in a circle");
    let itself = vec![node("EyeLike", &["y"], &["y"], &[])];
    let graph = Graph { nodes: itself, outputs: outputs(), ..Graph::default() };
    refused(model(13, graph), &Inputs::new(), "EyeLike 'y': nodes use each other's outputs");
}

#[test]
fn huge_declared_sizes_are_refused() {
    refused(vast_initializer(), &Inputs::new(), "tensor 's': 8 bytes for int64");
    // Shapes that only the model's arithmetic makes so large.
    for op in ["EyeLike", "Trilu", "Identity"] {
        refused(of_shape(&[1 << 32, 1 << 31], op), &Inputs::new(), "has too many elements");
        refused(of_shape(&[i64::MAX, i64::MAX], op), &Inputs::new(), "has too many elements");
    }
    refused(of_shape(&[-1, 2], "EyeLike"), &Inputs::new(), "-1 is no size");
    let graph = Graph {
        nodes: vec![node("EyeLike", &["x"], &["y"], &[])],
        inputs: vec![value("x", 1, &[None, None])],
        outputs: outputs(),
        ..Graph::default()
    };
    let inputs = Inputs::new().with_shape("x", [u64::MAX, u64::MAX]);
    refused(model(13, graph), &inputs, "has too many elements");
}

#[test]
fn work_on_the_host_is_bounded() {
    let mut nodes = vec![node("ConstantOfShape", &["s"], &["c0"], &[])];
    // Every one of them reads and writes a million elements.
    nodes.extend((0..2000).map(|index| {
        let (from, to) = (format!("c{index}"), format!("c{}", index + 1));
        node("Slice", &[&from, "z", "e"], &[&to], &[])
    }));
    nodes.push(node("Identity", &["c2000"], &["y"], &[]));
    let graph = Graph {
        nodes,
        initializers: vec![
            initializer("s", &[1], &[1 << 20]),
            initializer("z", &[1], &[0]),
            initializer("e", &[1], &[i64::MAX]),
        ],
        outputs: outputs(),
        ..Graph::default()
    };
    refused(model(13, graph), &Inputs::new(), "computes more on the host than");
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
    refused(chain(cast, 13), &inputs, "conversions in a row");
    let trilu = |from: &str, to: &str, _| node("Trilu", &[from], &[to], &[]);
    refused(chain(trilu, 14), &inputs, "such operators in a row");
    let identity = |from: &str, to: &str, _| node("Identity", &[from], &[to], &[]);
    assert!(Model::from_bytes(chain(identity, 13)).unwrap().bind(&inputs).is_ok());
}

#[test]
fn deep_nesting_is_refused() {
    let json = "[".repeat(100_000);
    refused(format!("{{\"resources\": {json}"), &Inputs::new(), "recursion limit");
    let xml = "<a>".repeat(100_000);
    refused(xml, &Inputs::new(), "is no XML");
    let xml =
        format!("<net version=\"11\">{}{}</net>", "<a>".repeat(100_000), "</a>".repeat(100_000));
    refused(xml, &Inputs::new(), "no layer of type Result");
    // A graph in an attribute of a node in a graph, and so on.
    let mut graph = Message::default();
    for _ in 0..2000 {
        let attribute = Message::default().text(1, "body").message(6, graph).int(20, 5);
        let inner = node("If", &[], &["y"], &[]).message(5, attribute);
        graph = Message::default().message(1, inner).message(12, value("y", 1, &[]));
    }
    let opset = Message::default().int(2, 13);
    let bytes = Message::default().message(7, graph).message(8, opset).0;
    refused(bytes, &Inputs::new(), "If 'y': not supported");
}

#[test]
fn xml_entities_are_refused() {
    let entities = "<!DOCTYPE net [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;\">]>\
                    <net version=\"11\" name=\"&b;\"/>";
    refused(entities, &Inputs::new(), "is no XML, or refused");
    let external = "<!DOCTYPE net SYSTEM \"file:///etc/passwd\"><net version=\"11\"/>";
    refused(external, &Inputs::new(), "is no XML, or refused");
    refused("<net version=\"11\">&x;</net>", &Inputs::new(), "is no XML, or refused");
}

#[test]
fn resources_of_any_declared_size_take_no_memory() {
    let script = |count: u64| {
        format!(
            "{{ \"resources\": {{ \"a\": {{ \"initialValuesDataType\": \"FLOAT32\", \
             \"initialValues\": {{ \"valueCount\": {count}, \"value\": 1 }} }} }}, \
             \"dispatchables\": {{}}, \"commands\": [] }}"
        )
    };
    for count in [0, 1 << 40, u64::MAX] {
        refused(script(count), &Inputs::new(), "is no number of values");
    }
    assert!(Model::from_bytes(script(1 << 31)).unwrap().bind(&Inputs::new()).is_ok());
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
        assert!(error.contains("is no such path"), "{error}");
    }
}

#[test]
fn what_is_no_model_is_refused() {
    for bytes in [&b""[..], b"\0", b"PK\x03\x04", b"hello", b"{}", b"{", b"<", b"<x/>", b"//"] {
        let error = Model::from_bytes(bytes.to_vec()).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("is no ") || error.contains("but no DxDispatch model"), "{error}");
    }
    let error = Model::read(data("models")).unwrap_err().to_string();
    assert!(error.ends_with("models: is no regular file"), "{error}");
}
