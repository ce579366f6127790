//! Runs the command, and looks at what it printed and wrote.

#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::borrow::Borrow;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The command, set up not to write to the user's folders.
pub(crate) fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dml"));
    command.env("DML_PIPELINE_CACHE", "off");
    command
}

/// Runs `dml`; commands that use a device run under the validation layer if `cargo xtask test` asks for
/// it.
pub(crate) fn dml<A: AsRef<OsStr>>(arguments: &[A]) -> Output {
    let mut command = command();
    let required = std::env::var("DML_TEST_VALIDATION").is_ok_and(|value| value == "required");
    let first = arguments.first().and_then(|it| it.as_ref().to_str());
    if required && matches!(first, Some("diag" | "graph" | "run")) {
        command.arg(&arguments[0]).arg("--validation").args(&arguments[1..]);
    } else {
        command.args(arguments);
    }
    command.output().unwrap()
}

/// Runs `dml` without any Vulkan device.
pub(crate) fn without_device(arguments: &[&str]) -> Output {
    let mut command = command();
    command.args(arguments).env_remove("DML_PROFILE");
    for variable in ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"] {
        command.env(variable, "/nonexistent.json");
    }
    command.output().unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The standard output of a command that must have succeeded.
#[track_caller]
pub(crate) fn stdout(output: impl Borrow<Output>) -> String {
    let output = output.borrow();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// Checks the exit code of a command that failed, and words of its message.
#[track_caller]
pub(crate) fn failed(output: impl Borrow<Output>, code: i32, message: &str) {
    let output = output.borrow();
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{error}");
    assert!(error.contains(message) && !error.contains("panicked"), "{error}");
}

#[track_caller]
pub(crate) fn fails(arguments: &[&str], code: i32, message: &str) {
    failed(dml(arguments), code, message);
}

/// A file of the models that `dml-import` is tested with.
pub(crate) fn model(path: &str) -> String {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dml-import/tests/data/models");
    models.join(path).to_str().unwrap().to_owned()
}

/// Shape and elements of a .npy file.
pub(crate) fn npy<T: npyz::Deserialize>(path: PathBuf) -> (Vec<u64>, Vec<T>) {
    let bytes = std::fs::read(path).unwrap();
    let npy = npyz::NpyFile::new(bytes.as_slice()).unwrap();
    (npy.shape().to_vec(), npy.into_vec().unwrap())
}
