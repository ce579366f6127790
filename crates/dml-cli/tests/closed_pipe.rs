//! A reader of the output that closes the pipe early, such as `head`, is not an error.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::process::{Command, Stdio};

use common::{command, model};

/// Runs `dml` with a closed pipe as one of its streams; gives the exit code and the text of the other stream.
fn closed(arguments: &[&str], close: fn(&mut Command, Stdio)) -> (Option<i32>, String) {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = command();
    command.args(arguments).env_remove("DML_PROFILE").stdout(Stdio::piped()).stderr(Stdio::piped());
    close(&mut command, writer.into());
    let output = command.spawn().unwrap().wait_with_output().unwrap();
    let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    (output.status.code(), text)
}

fn without_stdout(arguments: &[&str]) -> (Option<i32>, String) {
    closed(arguments, |command, pipe| {
        command.stdout(pipe);
    })
}

#[test]
fn commands_end_quietly_when_nobody_reads_their_output() {
    let model = model("onnx_dyn_NM/model.onnx");
    for arguments in [
        &["support", "--json", "--profile", "api-1-1"][..],
        &["support", "--profile", "api-1-1"],
        &["support", "--implemented"],
        &["devices"],
        &["devices", "--json"],
        &["diag", "--sizes", "300,300"],
        &["inspect", &model],
        &["inspect", &model, "--dot", "-"],
        &["--help"],
        &["--version"],
    ] {
        assert_eq!(without_stdout(arguments), (Some(0), String::new()), "{arguments:?}");
    }
    // The report of the run is on standard error.
    let (code, report) = without_stdout(&["run", &model, "--shape", "x=30x30"]);
    assert!(report.starts_with("ran ") && report.lines().count() == 3, "{report}");
    assert_eq!(code, Some(0));
}

/// An output file is written even if nobody reads the standard output.
#[test]
fn a_closed_pipe_ends_no_command_early() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npy");
    let arguments = ["diag", "--sizes", "3,3", "--explain", "--output", path.to_str().unwrap()];
    assert_eq!(without_stdout(&arguments), (Some(0), String::new()));
    assert!(path.is_file());
}

#[test]
fn exit_codes_stay_what_they_are() {
    let stderr = |arguments: &[&str]| {
        closed(arguments, |command, pipe| {
            command.stderr(pipe);
        })
    };
    assert_eq!(stderr(&["run", "no such file"]), (Some(1), String::new()));
    assert_eq!(stderr(&["diag", "--sizes", "three"]), (Some(2), String::new()));
    let (code, message) = without_stdout(&["run", "no such file"]);
    assert_eq!(code, Some(1));
    assert!(message.starts_with("error: no such file: "), "{message}");
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_stored_is_an_error() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = command();
    command.args(["support", "--implemented"]).stdout(full).stderr(Stdio::piped());
    let output = command.spawn().unwrap().wait_with_output().unwrap();
    common::failed(output, 1, "error: No space left on device");
}
