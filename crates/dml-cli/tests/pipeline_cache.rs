//! The folders in which `dml` keeps compiled pipelines and, if requested, kernels.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::Path;
use std::process::Command;

/// Runs an operator with the user's cache folder in `platform`, and with `chosen` as
/// DML_PIPELINE_CACHE.
fn run(platform: &Path, chosen: Option<&Path>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dml"));
    // Large enough that a kernel writes the diagonal.
    command.args(["diag", "--sizes", "512,512"]);
    command.env_remove("DML_PIPELINE_CACHE").env_remove("DML_PROFILE");
    command.env("XDG_CACHE_HOME", platform).env("HOME", platform).env("LOCALAPPDATA", platform);
    if let Some(chosen) = chosen {
        command.env("DML_PIPELINE_CACHE", chosen);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn entries(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

#[test]
fn the_variable_turns_the_cache_off_and_redirects_it() {
    let folder = tempfile::tempdir().unwrap();
    let (platform, other) = (folder.path().join("platform"), folder.path().join("other"));
    fs::create_dir(&platform).unwrap();
    run(&platform, Some(Path::new("off")));
    assert!(!platform.join("dml").exists() && !Path::new("off").exists());
    run(&platform, Some(&other));
    assert!(!platform.join("dml").exists());
    assert_eq!(entries(&other), 1);
}

#[cfg(target_os = "linux")]
#[test]
fn without_it_the_users_cache_folder_is_used() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), None);
    run(folder.path(), None);
    assert_eq!(entries(&folder.path().join("dml")), 1);
}

#[test]
fn kernels_are_dumped_where_the_variable_says() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_dml"));
    command.args(["diag", "--sizes", "512,512", "--type", "uint8"]);
    command.env("DML_PIPELINE_CACHE", "off").env("DML_DUMP_KERNELS", folder.path());
    assert!(command.output().unwrap().status.success());
    let kernel = fs::read(folder.path().join("diagonal_scatter_b8.spv")).unwrap();
    assert_eq!(kernel[..4], 0x0723_0203_u32.to_le_bytes());
    // A missing folder is not an error.
    command.env("DML_DUMP_KERNELS", folder.path().join("none"));
    assert!(command.output().unwrap().status.success());
}
