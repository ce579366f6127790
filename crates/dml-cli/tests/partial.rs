//! A result that cannot be written completely leaves no file.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::path::Path;
use std::process::{Command, Output};

use common::{command, failed, model, stdout, text};

/// Runs `dml` where no file can get longer than a few MiB: as on a full disk, a write fails half-way.
/// Drivers make files in memory, which still fit.
fn dml_on_a_full_disk(arguments: &[&str]) -> Output {
    let limited = "trap '' XFSZ; ulimit -f 8192; exec \"$0\" \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", limited, env!("CARGO_BIN_EXE_dml")]).args(arguments);
    command.env("DML_PIPELINE_CACHE", "off").output().unwrap()
}

#[track_caller]
fn assert_refused(output: &Output, path: &Path) {
    failed(output, 1, &format!("cannot write {}: ", path.display()));
    let error = text(&output.stderr);
    assert_eq!(error.lines().filter(|it| it.starts_with("error: ")).count(), 1, "{error}");
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn diag_leaves_no_half_written_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npy");
    let arguments = ["diag", "--sizes", "3000,3000", "--output", path.to_str().unwrap()];
    assert_refused(&dml_on_a_full_disk(&arguments), &path);
    assert_eq!(names(folder.path()), Vec::<String>::new());
}

#[test]
fn what_was_there_before_stays_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npy");
    std::fs::write(&path, b"an earlier result").unwrap();
    let arguments = ["diag", "--sizes", "3000,3000", "--output", path.to_str().unwrap()];
    assert_refused(&dml_on_a_full_disk(&arguments), &path);
    assert_eq!(std::fs::read(&path).unwrap(), b"an earlier result");
    assert_eq!(names(folder.path()), ["x.npy"]);
}

/// A small result still fits, so the limit is what fails the others.
#[test]
fn what_fits_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npy");
    let arguments = ["diag", "--sizes", "3,3", "--output", path.to_str().unwrap()];
    stdout(dml_on_a_full_disk(&arguments));
    assert_eq!(names(folder.path()), ["x.npy"]);
}

#[test]
fn run_leaves_no_half_written_file() {
    let folder = tempfile::tempdir().unwrap();
    let (model, out) = (model("onnx_dyn_NM/model.onnx"), folder.path().to_str().unwrap());
    let arguments = ["run", &model, "--shape", "x=3000x3001", "--output-dir", out];
    assert_refused(&dml_on_a_full_disk(&arguments), &folder.path().join("y.npy"));
    assert_eq!(names(folder.path()), Vec::<String>::new());
}

/// A device file that accepts no bytes is written directly, and the error is reported.
#[cfg(target_os = "linux")]
#[test]
fn a_device_that_is_full_is_an_error() {
    let output = command().args(["diag", "--sizes", "3,3", "--output", "/dev/full"]).output();
    assert_refused(&output.unwrap(), Path::new("/dev/full"));
}
