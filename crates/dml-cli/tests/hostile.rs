//! Files that try to do harm, under limits of the operating system: a second of processor time and
//! half a gibibyte of address space. Each is refused with one line.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../../dml-import/tests/common/onnx.rs"]
#[allow(dead_code, reason = "each test file uses its own part")]
mod onnx;

use std::path::Path;
use std::process::Command;

use onnx::{Graph, Message, circle, model, node, of_shape, outputs, value, vast_initializer};

/// Kibibytes. The rest of the command's own needs is a few mebibytes.
const MEMORY: u64 = 512 << 10;

/// Runs `dml inspect` and `dml run`, which refuse the file before there is a device.
#[track_caller]
fn refused(path: &Path, message: &str) {
    for command in ["inspect", "run"] {
        let script = format!("ulimit -t 1; ulimit -v {MEMORY}; exec \"$@\"");
        let mut limited = Command::new("sh");
        limited.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_dml"), command]).arg(path);
        let output = limited.env("VK_DRIVER_FILES", "none").output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        // A node that is refused is no reason for `inspect` to fail: it says so.
        if command == "inspect" && output.status.success() {
            assert!(printed.contains("does not run: "), "{printed}");
            continue;
        }
        assert_eq!(output.status.code(), Some(1), "{command}: {:?}: {error}", output.status);
        assert!(error.contains(message), "{command}: {error}");
        assert!(error.lines().count() == 1 && error.len() < 1000, "{command}: {error}");
    }
}

fn file(name: &str, bytes: impl AsRef<[u8]>, message: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    refused(&path, message);
}

#[test]
fn declared_sizes_cost_nothing() {
    for sizes in [[1 << 32, 1 << 31], [i64::MAX, i64::MAX], [i64::MAX, 1]] {
        for op in ["EyeLike", "Trilu", "Identity"] {
            file("a.onnx", of_shape(&sizes, op), "has too many elements");
        }
    }
    file("a.onnx", vast_initializer(), "tensor 's': 8 bytes for int64");
    // A message of 2^62 bytes, and one that is not there.
    file("a.onnx", b"\x3a\xff\xff\xff\xff\xff\xff\xff\xff\x3f\0", "is no ONNX model");
    let script = |field: &str| {
        format!(
            "{{ \"resources\": {{ \"a\": {{ \"initialValuesDataType\": \"FLOAT64\", {field} }} }}, \
             \"dispatchables\": {{}}, \"commands\": [] }}"
        )
    };
    let counted =
        script("\"initialValues\": { \"valueCount\": 9223372036854775808, \"value\": 1 }");
    file("a.json", counted, "is no number of values");
    file("a.json", script("\"sizeInBytes\": 9223372036854775808"), "is no size");
    let layer = "<net version=\"11\"><layers><layer id=\"0\" name=\"c\" type=\"Const\" \
                 version=\"opset1\"><data element_type=\"f32\" shape=\"4294967296,2147483648\" \
                 offset=\"0\" size=\"18446744073709551612\"/><output><port id=\"0\"/></output></layer>\
                 </layers></net>";
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.xml"), layer).unwrap();
    std::fs::write(folder.path().join("a.bin"), b"1234").unwrap();
    refused(&folder.path().join("a.xml"), "beyond the file's 4 bytes");
}

#[test]
fn circles_and_depth_cost_little() {
    file("a.onnx", circle(), "in a circle");
    let layer = |id: u32, kind: &str| {
        format!(
            "<layer id=\"{id}\" name=\"n{id}\" type=\"{kind}\" version=\"opset1\">\
             <data destination_type=\"f32\"/><input><port id=\"0\"/></input>\
             <output><port id=\"1\"/></output></layer>"
        )
    };
    let edge = |from: u32, to: u32| {
        format!("<edge from-layer=\"{from}\" from-port=\"1\" to-layer=\"{to}\" to-port=\"0\"/>")
    };
    let circle = format!(
        "<net version=\"11\"><layers>{}{}{}</layers><edges>{}{}{}</edges></net>",
        layer(0, "Convert"),
        layer(1, "Convert"),
        layer(2, "Result"),
        edge(0, 1),
        edge(1, 0),
        edge(1, 2)
    );
    file("a.xml", circle, "in a circle");
    for (name, open) in [("a.json", "{\"resources\":"), ("b.json", "{\"resources\":[[[[[")] {
        file(name, open.repeat(200_000), "is no JSON");
    }
    file("a.xml", "<a>".repeat(500_000), "is no XML");
    let mut graph = Message::default();
    for _ in 0..2000 {
        let attribute = Message::default().text(1, "body").message(6, graph).int(20, 5);
        let inner = node("If", &[], &["y"], &[]).message(5, attribute);
        graph = Message::default().message(1, inner).message(12, value("y", 1, &[]));
    }
    let opset = Message::default().int(2, 13);
    let nested = Message::default().message(7, graph).message(8, opset).0;
    file("a.onnx", nested, "If 'y': not supported");
}

#[test]
fn what_is_cut_off_is_refused() {
    let whole = of_shape(&[3, 4], "EyeLike");
    for end in [1, 2, whole.len() / 2, whole.len() - 1] {
        file("a.onnx", &whole[..end], "is no ");
    }
    file("a.json", "{ \"resources\": { \"a", "is no JSON");
    file("a.xml", "<net version=\"11\"><layers><layer", "is no XML");
}

#[test]
fn entities_and_foreign_files_are_not_read() {
    let mut entities = "<!DOCTYPE net [<!ENTITY a0 \"ha\">".to_owned();
    for index in 1..40 {
        let before = index - 1;
        entities += &format!("<!ENTITY a{index} \"&a{before};&a{before};\">");
    }
    entities += "]><net version=\"11\" name=\"&a39;\"/>";
    file("a.xml", entities, "is no XML, or refused");
    let external = "<!DOCTYPE n [<!ENTITY a SYSTEM \"file:///etc/passwd\">]><net>&a;</net>";
    file("a.xml", external, "is no XML, or refused");
    for location in ["../secret", "/etc/passwd", "a/../../secret", "..\\secret", "C:\\secret"] {
        let entry = Message::default().text(1, "location").text(2, location);
        let tensor =
            Message::default().int(1, 1).int(2, 7).text(8, "s").message(13, entry).int(14, 1);
        let graph = Graph {
            nodes: vec![node("ConstantOfShape", &["s"], &["y"], &[])],
            initializers: vec![tensor],
            outputs: outputs(),
            ..Graph::default()
        };
        file("a.onnx", model(13, graph), "leaves the model's folder");
        let script = format!(
            "{{ \"resources\": {{ \"a\": {{ \"initialValuesDataType\": \"UINT8\", \
             \"initialValues\": {{ \"sourcePath\": {location:?} }} }} }}, \
             \"dispatchables\": {{}}, \"commands\": [] }}"
        );
        file("a.json", script, "leaves the model's folder");
    }
}

/// The limits are in force: without them this would be no test.
#[test]
fn the_limits_stop_what_goes_beyond_them() {
    let script = format!("ulimit -t 1; ulimit -v {MEMORY}; exec sh -c 'while :; do :; done'");
    let status = Command::new("sh").args(["-c", &script]).status().unwrap();
    assert!(!status.success());
    let script = format!("ulimit -v {MEMORY}; exec dd if=/dev/zero of=/dev/null bs=600M count=1");
    let output = Command::new("sh").args(["-c", &script]).output().unwrap();
    assert!(!output.status.success());
}
