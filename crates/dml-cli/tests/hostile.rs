//! Malicious files, under limits of the operating system: a second of processor time, or four for a program that is not
//! optimized, and half a gibibyte of address space. Each is refused with one line.
// macOS has no limit of address space.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../../dml-import/tests/common/hostile.rs"]
mod hostile;
#[path = "../../dml-import/tests/common/onnx.rs"]
#[allow(dead_code, reason = "each test file uses its own part")]
mod onnx;

use std::path::Path;
use std::process::Command;

use hostile::HostileFile;

/// Kibibytes. The rest of the command's own needs is a few mebibytes.
const MEMORY: u64 = 512 << 10;

/// Seconds of processor time.
const TIME: u64 = if cfg!(debug_assertions) { 4 } else { 1 };

/// Runs `dml inspect` and `dml run`, which refuse the file before there is a device.
#[track_caller]
fn refused(path: &Path, message: &str) {
    for command in ["inspect", "run"] {
        let script = format!("ulimit -t {TIME}; ulimit -v {MEMORY}; exec \"$@\"");
        let mut limited = Command::new("sh");
        limited.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_dml"), command]).arg(path);
        let output = limited.env("VK_DRIVER_FILES", "none").output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        // `inspect` does not fail for a refused node, but reports it.
        if command == "inspect" && output.status.success() {
            assert!(printed.contains("does not run: "), "{printed}");
            continue;
        }
        assert_eq!(output.status.code(), Some(1), "{command}: {:?}: {error}", output.status);
        assert!(error.contains(message), "{command}: {error}");
        assert!(error.lines().count() == 1 && error.len() < 1000, "{command}: {error}");
    }
}

fn all_refused(files: Vec<HostileFile>) {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes, message) in files {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        refused(&path, message);
    }
}

#[test]
fn declared_sizes_cost_nothing() {
    all_refused(hostile::declared_sizes());
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
    all_refused(hostile::circles_and_depth());
}

#[test]
fn work_on_the_host_costs_little() {
    all_refused(hostile::work_on_the_host());
}

#[test]
fn what_is_cut_off_is_refused() {
    all_refused(hostile::cut_off());
}

#[test]
fn entities_and_foreign_files_are_not_read() {
    all_refused(hostile::entities_and_foreign_files());
}

/// The limits are in force; without them the other tests would prove nothing.
#[test]
fn the_limits_stop_what_goes_beyond_them() {
    let script = format!("ulimit -t 1; ulimit -v {MEMORY}; exec sh -c 'while :; do :; done'");
    let status = Command::new("sh").args(["-c", &script]).status().unwrap();
    assert!(!status.success());
    let script = format!("ulimit -v {MEMORY}; exec dd if=/dev/zero of=/dev/null bs=600M count=1");
    let output = Command::new("sh").args(["-c", &script]).output().unwrap();
    assert!(!output.status.success());
}
