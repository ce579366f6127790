//! The values that `dml run` gives to the inputs of a model.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../../dml-import/tests/common/onnx.rs"]
#[allow(dead_code, reason = "each test file uses its own part")]
mod onnx;

mod common;

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::Output;

use common::{command, failed, npy, stdout, text};
use dml_import::{ElementType, Tensor};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// A model that gives its inputs back: `a` of floats and of the shape [N], `b` of two 64-bit integers.
fn write_model(folder: &Path) {
    let inputs = vec![onnx::value("a", 1, &[None]), onnx::value("b", 7, &[Some(2)])];
    let graph = onnx::Graph {
        nodes: vec![
            onnx::node("Abs", &["a"], &["p"], &[]),
            onnx::node("Neg", &["a"], &["q"], &[]),
            onnx::node("Identity", &["b"], &["r"], &[]),
        ],
        inputs,
        outputs: vec![onnx::value("p", 1, &[]), onnx::value("q", 1, &[]), onnx::value("r", 7, &[])],
        ..Default::default()
    };
    fs::write(folder.join("m.onnx"), onnx::model(13, graph)).unwrap();
}

fn array<const N: usize>(element: ElementType, values: &[[u8; N]]) -> Vec<u8> {
    let shape = [u64::try_from(values.len()).unwrap()];
    let tensor = Tensor::new(element, shape, values.concat()).unwrap();
    let mut bytes = Vec::new();
    dml_import::npy::write(&mut bytes, &tensor).unwrap();
    bytes
}

fn floats(values: &[f32]) -> Vec<u8> {
    let values: Vec<[u8; 4]> = values.iter().map(|value| value.to_le_bytes()).collect();
    array(ElementType::FLOAT32, &values)
}

fn integers(values: &[i64]) -> Vec<u8> {
    let values: Vec<[u8; 8]> = values.iter().map(|value| value.to_le_bytes()).collect();
    array(ElementType::INT64, &values)
}

fn write_npz(path: &Path, method: CompressionMethod, arrays: &[(&str, Vec<u8>)]) {
    let mut archive = ZipWriter::new(File::create(path).unwrap());
    for (name, bytes) in arrays {
        let options = SimpleFileOptions::default().compression_method(method);
        archive.start_file(*name, options).unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap();
}

fn dml_in(folder: &Path, arguments: &[&str]) -> Output {
    command().current_dir(folder).args(arguments).output().unwrap()
}

#[test]
fn arrays_of_an_archive_are_inputs_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    write_model(path);
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        let arrays = [("a.npy", floats(&[-1.0, 2.0, 0.5])), ("b.npy", integers(&[7, -9]))];
        write_npz(&path.join("all.npz"), method, &arrays);
        let expected = "p: float32 [3]\n[  1   2 0.5]\nq: float32 [3]\n[   1   -2 -0.5]\n\
                        r: int64 [2]\n[ 7 -9]\n";
        assert_eq!(stdout(dml_in(path, &["run", "m.onnx", "--input", "all.npz"])), expected);
        let named = ["run", "m.onnx", "--input", "a=all.npz:a", "--input", "b=all.npz:b"];
        assert_eq!(stdout(dml_in(path, &named)), expected);
        write_npz(&path.join("one.npz"), method, &[("values.npy", floats(&[-1.0, 2.0, 0.5]))]);
        let one = ["run", "m.onnx", "--input", "a=one.npz", "--input", "b=all.npz:b"];
        assert_eq!(stdout(dml_in(path, &one)), expected);
    }
}

#[test]
fn tensor_protos_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    write_model(path);
    let proto = |name: &str, message: onnx::Message| fs::write(path.join(name), message.0).unwrap();
    proto("input_0.pb", onnx::floats("a", &[2], &[-3.0, 4.0]));
    proto("input_1.pb", onnx::initializer("b", &[2], &[5, 6]));
    let run = ["run", "m.onnx", "--input", "a=input_0.pb", "--input", "b=input_1.pb"];
    let expected = "p: float32 [2]\n[3 4]\nq: float32 [2]\n[ 3 -4]\nr: int64 [2]\n[5 6]\n";
    assert_eq!(stdout(dml_in(path, &run)), expected);
}

#[test]
fn wrong_files_of_tensors_are_named_with_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    write_model(path);
    let arrays = [("a.npy", floats(&[1.0])), ("c.npy", floats(&[1.0]))];
    write_npz(&path.join("x.npz"), CompressionMethod::Stored, &arrays);
    fs::write(path.join("a.npy"), floats(&[1.0])).unwrap();
    fs::write(path.join("text"), "hello").unwrap();
    let whole = fs::read(path.join("x.npz")).unwrap();
    fs::write(path.join("cut.npz"), &whole[..whole.len() / 2]).unwrap();
    write_npz(&path.join("other.npz"), CompressionMethod::Stored, &[("a.txt", vec![1])]);
    let refused = |input: &str, code: i32, message: &str| {
        let output = dml_in(path, &["run", "m.onnx", "--input", input]);
        failed(&output, code, message);
        assert!(code != 1 || text(&output.stderr).lines().count() == 1, "{output:?}");
    };
    refused("x.npz", 1, "unknown input 'c'; the model's inputs are: a, b");
    refused("a=x.npz", 1, "x.npz: has 2 arrays; name one with FILE.npz:NAME: a, c");
    refused("a=x.npz:d", 1, "x.npz: no array 'd'; the arrays are: a, c");
    refused("a=a.npy:d", 1, "a.npy:d: cannot be read");
    refused("a=cut.npz", 1, "cut.npz: is not an .npz file");
    refused("other.npz", 1, "other.npz: is not an .npz file: 'a.txt' is not an array, .npy");
    refused("a=text", 1, "; expected NumPy .npy, .npz or ONNX TensorProto .pb\n");
    refused("a.npy", 2, "no '=' between the input's name and the file");
    let twice = ["run", "m.onnx", "--input", "x.npz", "--shape", "a=1"];
    failed(dml_in(path, &twice), 2, "input 'a' is given twice");
}

#[test]
fn random_values_fill_what_is_not_given() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    write_model(path);
    let run = |more: &[&str]| {
        let arguments = ["run", "m.onnx", "--shape", "a=2000", "--output-dir", "out"];
        stdout(dml_in(path, &[&arguments[..], more].concat()));
        let out = path.join("out");
        (npy::<f32>(out.join("q.npy")).1, npy::<i64>(out.join("r.npy")).1)
    };
    let (floats, integers) = run(&["--random"]);
    assert_eq!(floats.len(), 2000);
    assert!(floats.iter().all(|value| value.abs() <= 1.0));
    assert!(floats.iter().any(|value| *value > 0.9) && floats.iter().any(|value| *value < -0.9));
    assert!(integers.iter().all(|value| [0, 1].contains(value)), "{integers:?}");
    assert_eq!(run(&["--random=0"]), (floats.clone(), integers));
    assert_ne!(run(&["--random=1"]).0, floats);
    fs::write(path.join("b.npy"), self::integers(&[8, 9])).unwrap();
    assert_eq!(run(&["--random", "--input", "b=b.npy"]), (floats, vec![8, 9]));
}

#[test]
fn a_repeated_run_needs_shapes_alone_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    write_model(path);
    let output = dml_in(path, &["run", "m.onnx", "--shape", "a=5", "--repeat", "2"]);
    let note = "note: inputs that are not given have random values, as with --random=0\n";
    assert!(text(&output.stderr).starts_with(note), "{output:?}");
    assert!(stdout(&output).contains("\nruns: 2, median "), "{output:?}");
    let quiet = dml_in(path, &["run", "m.onnx", "--shape", "a=5", "--repeat", "2", "--quiet"]);
    assert!(quiet.stderr.is_empty(), "{quiet:?}");
    assert!(stdout(&quiet).starts_with("once: read "), "{quiet:?}");
    assert_eq!(text(&quiet.stdout).lines().count(), 2, "{quiet:?}");
    failed(dml_in(path, &["run", "m.onnx", "--random", "--repeat", "2"]), 1, "--shape a=?");
}

#[test]
fn what_is_missing_is_named_with_the_options_that_give_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    write_model(path);
    let missing = |more: &[&str], message: &str| {
        failed(dml_in(path, &[&["run", "m.onnx"], more].concat()), 1, message);
    };
    let values = "input 'a': not given, and its shape is needed; give --input a=FILE.npy or \
                  --shape a=? --random\n";
    missing(&[], values);
    let values = "input 'b': not given, and its values are needed; give --input b=FILE.npy or \
                  --random\n";
    missing(&["--shape", "a=3"], values);
    let misspelt = "unknown input 'c'; the model's inputs are: a, b\n";
    missing(&["--shape", "c=3"], misspelt);
    missing(&["--shape", "c=3", "--random"], misspelt);
}
