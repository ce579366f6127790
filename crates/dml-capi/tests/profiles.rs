//! Capability caps in C: by the descriptor, and by the environment.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(unsafe_code, reason = "a C program's calls")]

mod common;

use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::ptr;

use common::*;
use dmlvk::*;

/// Bytes of the largest buffer under the profile below, and of one that is too large.
const LIMIT: u64 = 65_536;

fn profile(folder: &Path) -> PathBuf {
    let path = folder.join("small.toml");
    let text = format!("about = \"Small buffers.\"\n[limits]\nmaxMemoryAllocationSize = {LIMIT}\n");
    std::fs::write(&path, text).unwrap();
    path
}

fn create(profile: Option<&str>) -> (HRESULT, DmlVkDevice) {
    let profile = profile.map(|profile| CString::new(profile).unwrap());
    let profile = profile.as_ref().map_or(ptr::null(), |it| it.as_ptr());
    let desc = DmlVkDeviceDesc { profile, ..device_desc() };
    try_create_device(&desc)
}

/// Whether the device's memory is under the limit; it is destroyed.
fn is_capped((code, device): (HRESULT, DmlVkDevice)) -> bool {
    ok(code);
    let (code, _) = try_create_buffer(device, LIMIT + 4);
    if code != 0 {
        assert!(message().contains("maxMemoryAllocationSize"), "{}", message());
    }
    // Operators on the device run under the cap.
    let operator = Diagonal::new(11, &[2, 3], 48, 1, 7.0).compiled(device);
    let buffer = create_buffer(device, 48);
    let output = DmlVkBufferBinding { buffer, offset: 0, size: 48 };
    ok(execute(operator, output));
    let bytes = read(buffer, 0, 48);
    let ones: Vec<usize> = (0..6).filter(|at| bytes[8 * at..8 * at + 8] != [0; 8]).collect();
    assert_eq!(ones, [1, 5]);
    destroy(device);
    code != 0
}

#[test]
fn a_descriptor_names_a_profile() {
    let folder = tempfile::tempdir().unwrap();
    let path = profile(folder.path());
    assert!(is_capped(create(path.to_str())));
    assert!(!is_capped(create(Some(""))));
    assert!(!is_capped(create(Some("no-optional-features"))));
    let (code, device) = create(Some("no such profile"));
    refused(code, E_INVALIDARG, "no such profile");
    let (code, _) = create(folder.path().join("none.toml").to_str());
    refused(code, E_INVALIDARG, "none.toml");
    assert!(device.is_null());
}

/// The environment variable with the expected profile of the program below.
const EXPECTED: &str = "DML_TEST_EXPECTED_PROFILE";

/// Where the test below starts this one again, `DML_PROFILE` is set; a descriptor's own wish wins.
#[test]
fn a_device_follows_the_environment() {
    match std::env::var(EXPECTED).as_deref() {
        Ok("capped") => {
            assert!(is_capped(create(None)));
            assert!(!is_capped(create(Some(""))));
        }
        Ok("refused") => refused(create(None).0, E_INVALIDARG, "no such profile"),
        _ => assert!(!is_capped(create(Some("")))),
    }
}

#[test]
fn the_environment_names_a_profile() {
    let folder = tempfile::tempdir().unwrap();
    let path = profile(folder.path());
    for (profile, expected) in
        [(path.as_path(), "capped"), (Path::new("no such profile"), "refused")]
    {
        let mut again = Command::new(std::env::current_exe().unwrap());
        again.args(["--exact", "a_device_follows_the_environment"]);
        let output = again.env("DML_PROFILE", profile).env(EXPECTED, expected).output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && printed.contains("1 passed"), "{expected}: {printed}");
    }
}
