//! The files that the commands write, which are never their inputs.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../../dml-import/tests/common/onnx.rs"]
#[allow(dead_code, reason = "each test file uses its own part")]
mod onnx;

mod common;

use std::fs;
use std::path::Path;
use std::process::Output;

use common::{command, failed, npy, stdout, text};
use onnx::Message;

/// `y = x + 1` of two floats.
fn model(weights: Message) -> Vec<u8> {
    let graph = onnx::Graph {
        nodes: vec![onnx::node("Add", &["x", "w"], &["y"], &[])],
        initializers: vec![weights],
        inputs: vec![onnx::value("x", 1, &[Some(2)])],
        outputs: onnx::outputs(),
    };
    onnx::model(13, graph)
}

fn ones() -> Message {
    onnx::floats("w", &[2], &[1.0, 1.0])
}

fn write_input(path: &Path) {
    let tensor = dml_import::Tensor::new(
        dml_import::ElementType::FLOAT32,
        [2],
        [1f32, 2.0].iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>(),
    );
    let mut bytes = Vec::new();
    dml_import::npy::write(&mut bytes, &tensor.unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

/// Runs `dml` in a folder.
fn dml_in(folder: &Path, arguments: &[&str]) -> Output {
    command().current_dir(folder).args(arguments).output().unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The command is refused as wrong usage, and the file is unchanged.
#[track_caller]
fn refuses_to_overwrite(folder: &Path, file: &str, arguments: &[&str]) {
    let (before, all) = (fs::read(folder.join(file)).unwrap(), names(folder));
    let output = dml_in(folder, arguments);
    failed(&output, 2, ", which is not overwritten");
    assert_eq!(text(&output.stderr).lines().count(), 1, "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    assert_eq!((fs::read(folder.join(file)).unwrap(), names(folder)), (before, all));
}

#[test]
fn without_a_folder_outputs_are_shown_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("m.onnx"), model(ones())).unwrap();
    write_input(&path.join("y.npy"));
    let before = fs::read(path.join("y.npy")).unwrap();
    let printed = stdout(dml_in(path, &["run", "m.onnx", "--input", "x=y.npy"]));
    assert_eq!(printed, "y: float32 [2]\n[2 3]\n");
    assert_eq!(names(path), ["m.onnx", "y.npy"]);
    assert_eq!(fs::read(path.join("y.npy")).unwrap(), before);
    let quiet = dml_in(path, &["run", "m.onnx", "--input", "x=y.npy", "--quiet"]);
    assert!(quiet.stdout.is_empty() && quiet.stderr.is_empty(), "{quiet:?}");
}

/// Lines on standard error, so that standard output has the outputs alone.
#[test]
fn a_run_ends_with_three_lines_on_what_it_did() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("m.onnx"), model(ones())).unwrap();
    write_input(&path.join("x.npy"));
    let input = ["run", "m.onnx", "--input", "x=x.npy"];
    let report = |options: &[&str]| {
        let output = dml_in(path, &[&input[..], options].concat());
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        text(&output.stderr).lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let lines = report(&["--level", "5_1", "--numerics", "fast"]);
    let [device, work, outputs] = &lines[..] else { panic!("{lines:?}") };
    assert!(device.starts_with("ran m.onnx on "), "{device}");
    assert!(device.ends_with(", feature level 5_1, fast numerics"), "{device}");
    assert!(work.starts_with("1 dispatch in 1 submission; "), "{work}");
    assert!(work.contains(" in all: read ") && work.contains(", first run "), "{work}");
    assert_eq!(outputs, "1 output, not written to files (--output-dir DIR writes them)");
    let lines = report(&["--output-dir", "out"]);
    assert_eq!(lines.last().map(String::as_str), Some("1 output, 1 written to out"));
    // A constant is known to the host.
    let graph = onnx::Graph {
        nodes: vec![onnx::node("Identity", &["w"], &["y"], &[])],
        initializers: vec![ones()],
        outputs: onnx::outputs(),
        ..Default::default()
    };
    fs::write(path.join("c.onnx"), onnx::model(13, graph)).unwrap();
    let output = dml_in(path, &["run", "c.onnx"]);
    let report = text(&output.stderr);
    assert!(report.starts_with("ran c.onnx on the host: no output needs a device\n"), "{report}");
}

#[test]
fn an_input_is_never_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("m.onnx"), model(ones())).unwrap();
    write_input(&path.join("y.npy"));
    fs::create_dir(path.join("below")).unwrap();
    let input = ["run", "m.onnx", "--input", "x=y.npy", "--output-dir"];
    for place in [".", "./", "below/..", path.to_str().unwrap()] {
        refuses_to_overwrite(path, "y.npy", &[&input[..], &[place]].concat());
    }
    let other = ["run", "m.onnx", "--input", "x=below/../y.npy", "--output-dir", "."];
    refuses_to_overwrite(path, "y.npy", &other);
    // Elsewhere it is written.
    stdout(dml_in(path, &[&input[..], &["below"]].concat()));
    assert_eq!(npy::<f32>(path.join("below/y.npy")), (vec![2], vec![2.0, 3.0]));
}

#[cfg(unix)]
#[test]
fn an_input_is_not_overwritten_through_links() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("m.onnx"), model(ones())).unwrap();
    write_input(&path.join("values.npy"));
    let run = ["run", "m.onnx", "--input", "x=values.npy", "--output-dir", "."];
    std::os::unix::fs::symlink("values.npy", path.join("y.npy")).unwrap();
    refuses_to_overwrite(path, "values.npy", &run);
    fs::remove_file(path.join("y.npy")).unwrap();
    fs::hard_link(path.join("values.npy"), path.join("y.npy")).unwrap();
    refuses_to_overwrite(path, "values.npy", &run);
}

#[test]
fn neither_a_model_nor_its_weights_are_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    write_input(&path.join("x.npy"));
    fs::write(path.join("y.npy"), model(ones())).unwrap();
    let input = ["--input", "x=x.npy"];
    let run = |model: &'static str| [&["run", model][..], &input, &["--output-dir", "."]].concat();
    refuses_to_overwrite(path, "y.npy", &run("y.npy"));

    // Two floats of external data.
    let entry = Message::default().text(1, "location").text(2, "y.npy");
    let external = Message::default().int(1, 2).int(2, 1).text(8, "w");
    let external = external.message(13, entry).int(14, 1);
    fs::write(path.join("m.onnx"), model(external)).unwrap();
    fs::write(path.join("y.npy"), [0; 8]).unwrap();
    refuses_to_overwrite(path, "y.npy", &run("m.onnx"));

    let script = r#"{ "resources": { "a": { "initialValuesDataType": "UINT8",
          "initialValues": { "sourcePath": "a.bin" } } }, "dispatchables": {},
        "commands": [{ "type": "writeFile", "resource": "a", "targetPath": "a.bin" }] }"#;
    fs::write(path.join("m.json"), script).unwrap();
    fs::write(path.join("a.bin"), b"four").unwrap();
    refuses_to_overwrite(path, "a.bin", &["run", "m.json", "--output-dir", "."]);
    let printed = stdout(dml_in(path, &["run", "m.json"]));
    assert_eq!(printed, "a.bin: uint8 [4], not written without --output-dir\n");
}

#[test]
fn pictures_and_results_do_not_replace_what_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("m.onnx"), model(ones())).unwrap();
    write_input(&path.join("x.npy"));
    refuses_to_overwrite(path, "m.onnx", &["inspect", "m.onnx", "--dot", "./m.onnx"]);
    let inspect = ["inspect", "m.onnx", "--input", "x=x.npy", "--dot", "x.npy"];
    refuses_to_overwrite(path, "x.npy", &inspect);
    fs::write(path.join("graph.json"), "{}").unwrap();
    refuses_to_overwrite(path, "graph.json", &["graph", "graph.json", "--dot", "graph.json"]);
    fs::write(path.join("mine.toml"), "about = \"mine\"\n").unwrap();
    let diag = ["diag", "--sizes", "3,3", "--profile", "mine.toml", "--output", "mine.toml"];
    refuses_to_overwrite(path, "mine.toml", &diag);
}

#[test]
fn outputs_keep_their_names_before_others_are_cleaned() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let names_of = ["a/b", "a_b", "CON"];
    let constant = |name: &str, value| onnx::floats(name, &[1], &[value]);
    let graph = onnx::Graph {
        initializers: vec![constant("a/b", 1.0), constant("a_b", 2.0), constant("CON", 3.0)],
        outputs: names_of.iter().map(|name| onnx::value(name, 1, &[])).collect(),
        ..Default::default()
    };
    fs::write(path.join("m.onnx"), onnx::model(13, graph)).unwrap();
    stdout(dml_in(path, &["run", "m.onnx", "--output-dir", "out"]));
    let value = |name: &str| npy::<f32>(path.join("out").join(name)).1[0];
    assert_eq!([value("a_b_2.npy"), value("a_b.npy"), value("_CON.npy")], [1.0, 2.0, 3.0]);
}

#[test]
fn a_folder_in_an_output_s_place_is_refused_before_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("m.onnx"), model(ones())).unwrap();
    fs::create_dir(path.join("y.npy")).unwrap();
    let output = dml_in(path, &["run", "m.onnx", "--random", "--output-dir", "."]);
    failed(&output, 1, "y.npy: it is a folder");
    assert!(output.stdout.is_empty(), "{output:?}");
}
