//! The runner's reports about kernels: how many cases dispatched some, and files about each dispatch.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::path::Path;

use common::{Folder, conformance, runner, text};

const INTERPRETER: [&str; 2] = ["--device", "interpreter"];
const HOST_MADE: &str = "5_1/diagonal_matrix/int16/rank2/shape_row";

#[test]
fn cases_that_the_host_makes_run_by_kernels_too_on_every_device() {
    let folder = Folder::new();
    let filter = ["--filter", "*/diagonal_matrix/*/doc_*"];
    for device in [&[][..], &INTERPRETER] {
        let (run, output) = folder.run(runner(), &[&filter, device].concat());
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        for target in &run.targets {
            let total = target.total();
            assert_eq!((total.dispatched(), total.host_made()), (total.executed(), 0));
            let kernels = target.kernels.as_ref().unwrap();
            assert_eq!(kernels.of("DIAGONAL_MATRIX").unwrap().distinct, kernels.distinct);
            assert_eq!(kernels.pipelines > 0, device.is_empty(), "{kernels:?}");
            assert!(kernels.distinct > 0 && target.not_dispatched().is_empty(), "{kernels:?}");
        }
        let printed = text(&output.stdout);
        assert!(printed.contains("\ndispatched kernels for 1 of 1 operator that were executed: "));
        let converted = conformance(&["convert", &folder.text_path("report.json")]);
        assert_eq!(text(&converted.stdout), printed);
    }
}

#[test]
fn operators_for_which_no_kernel_ran_are_named_and_the_verdict_is_no_worse() {
    let folder = Folder::new();
    let arguments = ["--filter", HOST_MADE, "--strategy", "inline"];
    let (run, output) = folder.run(runner(), &[&arguments[..], &INTERPRETER].concat());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let total = run.targets[0].total();
    assert_eq!((total.executed(), total.dispatched(), total.host_made()), (1, 0, 1));
    let words = "say nothing of the driver; no case dispatched a kernel for: DIAGONAL_MATRIX\n";
    assert!(text(&output.stdout).contains(words), "{}", text(&output.stdout));
}

/// The paths of all files below a folder.
fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = folder.read_dir().unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn a_dump_has_what_each_dispatch_left_on_the_device() {
    let folder = Folder::new();
    let cases =
        [HOST_MADE, "5_1/reduce/float32/rank4/values", "5_1/gather/int8-uint32/rank4/values"];
    for (number, id) in cases.into_iter().enumerate() {
        for isolation in [&[][..], &["--no-isolation"]] {
            let name = format!("{number}_{}", isolation.len());
            let path = folder.text_path(&name);
            let output = conformance(&[&["show", id, "--dump", &path], isolation].concat());
            if text(&output.stderr).contains("there is no case") {
                continue;
            }
            assert_eq!(output.status.code(), Some(0), "{output:?}");
            let files = files(Path::new(&path));
            let names = files.iter().map(|file| file.to_str().unwrap());
            let names: Vec<&str> = names.collect();
            let count = |end: &str| names.iter().filter(|name| name.ends_with(end)).count();
            assert!(count(".spv") > 0 && count("dispatch.json") > 0);
            assert!(count("output_0.actual.bin") == 1, "{names:?}");
            assert!(count(".actual.bin") > 1, "{names:?}");
            for actual in names.iter().filter(|name| name.ends_with(".actual.bin")) {
                let expected = actual.replace(".actual.", ".expected.");
                assert_eq!(std::fs::read(actual).unwrap(), std::fs::read(expected).unwrap());
            }
            let readme = std::fs::read_to_string(Path::new(&path).join("README.txt")).unwrap();
            assert!(readme.starts_with(id) && readme.lines().count() == 5, "{readme}");
        }
    }
}

#[test]
fn a_folder_that_has_files_is_refused() {
    let folder = Folder::new();
    let kept = folder.write("kept", "kept");
    let path = Path::new(&kept).parent().unwrap().to_str().unwrap().to_owned();
    let show = |id: &str, dump: &str| {
        conformance(&[&["show", id, "--dump", dump][..], &INTERPRETER].concat())
    };
    let output = show(HOST_MADE, &path);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("is not empty; expected a folder that does not exist"), "{error}");
    assert_eq!(files(Path::new(&path)).len(), 1);
    let output = show("5_1/diagonal_matrix/int8/rank2/rule_strides_zero", &folder.text_path("new"));
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stderr).contains("expected a case with outputs"), "{output:?}");
}

#[test]
fn a_driver_that_crashes_leaves_no_dump_unexplained() {
    let folder = Folder::new();
    let output = runner()
        .args(["show", HOST_MADE, "--dump", &folder.text_path("new")])
        .args(INTERPRETER)
        .env("DML_CONFORMANCE_TEST_FAULT", format!("crash:{HOST_MADE}"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(text(&output.stdout).contains(": crash ("), "{output:?}");
    assert!(text(&output.stderr).contains("new is incomplete: "), "{output:?}");
}
