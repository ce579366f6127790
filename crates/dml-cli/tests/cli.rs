//! The `dml` command: what it prints and its exit codes.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{dml, failed, fails, npy, stdout, text, without_device};

#[test]
fn devices_are_listed_for_people_and_for_programs() {
    let json = stdout(dml(&["devices", "--json"]));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let list = text(&dml(&["devices"]).stdout);
    for device in json.as_array().unwrap() {
        assert!(list.contains(device["name"].as_str().unwrap()));
        assert_eq!(device["uuid"].as_str().unwrap().len(), 36);
        assert!(device["limits"]["maxStorageBufferRange"].as_u64().unwrap() >= 1 << 27);
        assert!(device["limits"]["maxComputeSharedMemorySize"].as_u64().unwrap() >= 16 << 10);
        let [offered, enabled] =
            ["features", "enabled_features"].map(|it| device[it].as_array().unwrap().clone());
        assert!(enabled.iter().any(|it| it == "timelineSemaphore"), "{enabled:?}");
        assert!(enabled.iter().all(|it| offered.contains(it)), "{enabled:?}");
        let line = |names: &[serde_json::Value]| {
            names.iter().map(|name| name.as_str().unwrap()).collect::<Vec<_>>().join(", ")
        };
        assert!(list.contains(&format!("   enabled: {}", line(&enabled))), "{list}");
    }
}

/// The tests' drivers run on the CPU, where lavapipe is preferred.
#[test]
fn one_device_is_the_default_and_commands_take_it() {
    let json: serde_json::Value =
        serde_json::from_str(&stdout(dml(&["devices", "--json"]))).unwrap();
    let devices = json.as_array().unwrap();
    let default: Vec<_> = devices.iter().filter(|device| device["default"] == true).collect();
    let name = |device: &serde_json::Value| device["name"].as_str().unwrap().to_owned();
    let [default] = default[..] else { panic!("{devices:?}") };
    if devices.iter().all(|device| device["type"] == "CPU") {
        let is_lavapipe = |device: &serde_json::Value| device["driver_name"] == "llvmpipe";
        assert!(is_lavapipe(default) || !devices.iter().any(is_lavapipe), "{default}");
    }
    let list = stdout(dml(&["devices"]));
    let line = format!("{}: {} (default)", default["index"], name(default));
    assert_eq!(list.lines().filter(|it| it.ends_with(" (default)")).collect::<Vec<_>>(), [line]);
    let json: serde_json::Value =
        serde_json::from_str(&stdout(dml(&["support", "--json"]))).unwrap();
    assert_eq!(json["subject"], name(default));
}

#[test]
fn a_device_that_does_not_exist_is_2_and_lists_those_that_do() {
    let first = "; devices are: 0: ";
    for (device, problem) in [
        ("77", "no device 77"),
        ("nothing", "no device whose name contains 'nothing'"),
        ("00000000000000000000000000000000", "no device with the UUID 00000000-0000-0000-"),
    ] {
        let output = dml(&["diag", "--sizes", "3,3", "--device", device]);
        failed(&output, 2, &format!("error: {problem}"));
        failed(&output, 2, first);
    }
}

#[test]
fn diag_prints_the_matrix() {
    let output = dml(&["diag", "--sizes", "1,1,3,3", "--feature-level", "2_0"]);
    assert_eq!(text(&output.stdout), "[[[[1 0 0]\n   [0 1 0]\n   [0 0 1]]]]\n", "{output:?}");
    let output = dml(&[
        "diag",
        "--sizes",
        "2,3",
        "--offset",
        "-1",
        "--value",
        "-2.5",
        "--type",
        "int8",
        "--strides",
        "4,1",
    ]);
    assert_eq!(text(&output.stdout), "[[ 0  0  0]\n [-2  0  0]]\n", "{output:?}");
}

#[test]
fn diag_explains_what_it_does() {
    let output = dml(&["diag", "--sizes", "3,3", "--explain"]);
    let expected = "DIAGONAL_MATRIX\n  output 0 = OutputTensor FLOAT32 [3, 3]\n  \
        output 0 = band 0x3f800000 in diagonals 0..1 on zeros\n    \
        36 bytes, 9 operations, 9 invocations\n\
        DIAGONAL_MATRIX: inline\n  each time: update output 0 0..36\n";
    assert!(text(&output.stdout).starts_with(expected), "{output:?}");
    let args = ["diag", "--sizes", "3,3", "--band", "-1,1", "--value", "2", "--explain"];
    let args = [&args[..], &["--type", "uint8", "--strategy", "row-copies"]].concat();
    let output = dml(&args);
    let printed = text(&output.stdout);
    assert!(printed.contains("\nDIAGONAL_MATRIX1: row-copies\n  each time: copy 9 bytes"));
    assert!(printed.ends_with("\n\n[[2 0 0]\n [2 2 0]\n [0 2 2]]\n"), "{output:?}");
    fails(&["diag", "--sizes", "3,3", "--strategy", "fast"], 2, "accepted: inline, fill,");
}

#[test]
fn diag_runs_on_the_device_that_is_named() {
    let json: serde_json::Value =
        serde_json::from_slice(&dml(&["devices", "--json"]).stdout).unwrap();
    for device in json.as_array().unwrap() {
        let uuid = device["uuid"].as_str().unwrap();
        let output = dml(&["diag", "--sizes", "1,2", "--device", uuid]);
        assert_eq!(text(&output.stdout), "[[1 0]]\n", "{output:?}");
    }
}

#[test]
fn diag_writes_npy() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("eye.npy");
    stdout(dml(&[
        "diag",
        "--sizes",
        "2,3",
        "--type",
        "uint16",
        "--output",
        path.to_str().unwrap(),
    ]));
    assert_eq!(npy::<u16>(path), (vec![2, 3], vec![1, 0, 0, 0, 1, 0]));
}

#[test]
fn refusals_are_1_with_a_message() {
    fails(&["diag", "--sizes", "3,0"], 1, "OutputTensor.Sizes[1]: 0 is not a size");
    fails(&["diag", "--sizes", "1,1,1,1,1,1,1,1,1"], 1, "DimensionCount: 9 is out of range");
    fails(&["diag", "--sizes", "3,3", "--strides", "1,1"], 1, "share an address");
    fails(&["diag", "--sizes", "3,3", "--strides", "1"], 1, "2 entries, as many as Sizes has");
    fails(&["diag", "--sizes", "4294967295,4294967295"], 1, "too many elements");
    let int64 = ["diag", "--sizes", "3,3", "--type", "int64", "--feature-level", "4_0"];
    fails(&int64, 1, "INT64 needs feature level 5_1");
    fails(&["diag", "--sizes", "3,3", "--type", "uint4"], 1, "not supported at any feature level");
    let unwritable = ["diag", "--sizes", "3,3", "--output", "no/such/folder/x.npy"];
    fails(&unwritable, 1, "cannot write no/such/folder/x.npy");
}

#[test]
fn wrong_usage_is_2_with_what_is_accepted() {
    fails(&["diag"], 2, "--sizes");
    fails(&["diag", "--sizes", "three"], 2, "not a whole number");
    fails(&["diag", "--sizes", "3,3", "--type", "bool"], 2, "accepted: FLOAT32");
    fails(&["diag", "--sizes", "3,3", "--feature-level", "9_9"], 2, "accepted: 1_0");
    fails(&["diag", "--sizes", "3,3", "--device", "no such device"], 2, "no such device");
    fails(&["diag", "--sizes", "-1,3"], 2, "");
}

#[test]
fn no_device_is_3_and_says_what_to_install() {
    for arguments in [&["devices"][..], &["devices", "--json"], &["diag", "--sizes", "3,3"]] {
        let output = without_device(arguments);
        failed(&output, 3, "mesa-vulkan-drivers");
        assert!(output.stdout.is_empty());
    }
}
