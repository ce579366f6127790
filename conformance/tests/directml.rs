//! Cases as scripts for DirectML: exported, run by this runtime's own reader of DxDispatch's scripts in the
//! place of Microsoft's, and compared.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::path::Path;
use std::process::Output;

use common::{Folder, conformance, text};
use dml::{Device, FeatureLevel};
use dml_conformance::dxdispatch::manifest::Manifest;
use dml_import::program::Destination;
use dml_import::{Inputs, Model};
use serde_json::{Value, json};

/// Exports into the folder `export`; returns what the command printed.
fn export(folder: &Folder, arguments: &[&str]) -> String {
    let target = folder.text_path("export");
    let output = conformance(&[&["export", "--dxdispatch", &target], arguments].concat());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    text(&output.stdout)
}

fn import(folder: &Folder, arguments: &[&str]) -> Output {
    conformance(&[&["import", &folder.text_path("export")], arguments].concat())
}

fn manifest(folder: &Folder) -> Manifest {
    Manifest::read(&folder.path("export")).unwrap()
}

/// Writes the record that run.ps1 writes, with a byte order mark as Windows PowerShell may put it.
fn record(folder: &Folder, results: &[Value]) {
    let record = json!({ "adapter": "a test", "results": results });
    folder.write("export/results.json", &format!("\u{feff}{record}"));
}

fn well_ended(id: &str) -> Value {
    json!({ "id": id, "exit_code": 0, "stdout": "", "stderr": "" })
}

/// Runs a script as DxDispatch would in the script's own folder.
fn run(device: &Device, script: &Path) -> dml_import::Result<()> {
    let program = Model::read(script)?.bind(&Inputs::new())?;
    for output in program.compile(device)?.run(&Inputs::new())? {
        let Destination::File(target) = output.destination else { panic!("{output:?}") };
        let target = script.parent().unwrap().join(target);
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        std::fs::write(target, output.tensor.bytes()).unwrap();
    }
    Ok(())
}

/// Puts what must be in the outputs there.
fn pretend(folder: &Folder) {
    for output in manifest(folder).cases.iter().flat_map(|case| &case.outputs) {
        let path = |name: &str| folder.path("export").join(name);
        let expected = std::fs::read(path(&output.expected)).unwrap();
        let before = vec![0; usize::try_from(output.offset).unwrap()];
        std::fs::create_dir_all(path(&output.result).parent().unwrap()).unwrap();
        std::fs::write(path(&output.result), [before, expected].concat()).unwrap();
    }
}

#[test]
fn what_our_own_reader_makes_of_every_script_is_as_expected() {
    let folder = Folder::new();
    let summary = export(&folder, &["--feature-level", "6_4", "--sample", "2"]);
    let manifest = manifest(&folder);
    let count = manifest.cases.len();
    let operators = dml_ops::OPERATORS.len();
    assert!(
        summary.starts_with(&format!("{count} cases of {operators} operators in ")),
        "{summary}"
    );
    assert!(summary.contains(" in place, ") && summary.contains(" wrong bindings"), "{summary}");
    let device = Device::open(FeatureLevel::HIGHEST).unwrap();
    let results = manifest.cases.iter().map(|case| {
        let ended = run(&device, &folder.path("export").join(&case.script));
        let error = ended.as_ref().err().map(ToString::to_string).unwrap_or_default();
        json!({ "id": case.id, "exit_code": i32::from(ended.is_err()), "stderr": error })
    });
    record(&folder, &results.collect::<Vec<_>>());
    let output = import(&folder, &[]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
    let expected = format!("DirectML on a test: {count} passed, 0 differing, 0 not run\n");
    assert!(text(&output.stdout).starts_with(&expected), "{}", text(&output.stdout));
}

#[test]
fn operators_of_the_whole_have_every_case_and_others_a_sample() {
    let folder = Folder::new();
    let filter = "6_4/{tile,diagonal_matrix}/int32/rank[23]/*";
    let listed = conformance(&["list", "--random", "0", "--filter", filter]);
    let listed = text(&listed.stdout);
    // A signalling NaN is none that JSON has a name for.
    let is_exported = |id: &&str| {
        let name = id.rsplit('/').next().unwrap();
        id.contains("/diagonal_matrix/")
            && !["rule_", "binding_", "value_nan_signalling"].iter().any(|it| name.starts_with(it))
    };
    let whole: Vec<&str> = listed.lines().filter(is_exported).collect();
    export(&folder, &["--random", "0", "--filter", filter, "--sample", "3"]);
    let ids: Vec<String> = manifest(&folder).cases.iter().map(|case| case.id.to_string()).collect();
    let (diagonal, tile): (Vec<&String>, Vec<&String>) =
        ids.iter().partition(|id| id.contains("/diagonal_matrix/"));
    assert_eq!(diagonal, whole);
    assert_eq!(tile.len(), 3, "{ids:?}");
}

#[test]
fn a_case_that_several_levels_accept_is_exported_once() {
    let folder = Folder::new();
    let summary = export(&folder, &["--filter", "*/diagonal_matrix/int32/rank3/shape_row"]);
    assert!(summary.starts_with("1 cases of 1 operators in "), "{summary}");
    assert!(summary.contains("left out: 9 the same as at a lower level"), "{summary}");
}

/// The export of three cases, with what must be in their outputs, and their ids.
fn three_cases() -> (Folder, Vec<String>) {
    let folder = Folder::new();
    export(
        &folder,
        &["--filter", "5_1/diagonal_matrix/int32/rank3/{shape_row,value_zero,strides_transposed}"],
    );
    pretend(&folder);
    let ids: Vec<String> = manifest(&folder).cases.iter().map(|case| case.id.to_string()).collect();
    assert_eq!(ids.len(), 3, "{ids:?}");
    (folder, ids)
}

#[test]
fn a_changed_byte_is_found_and_named() {
    let (folder, ids) = three_cases();
    record(&folder, &ids.iter().map(|id| well_ended(id)).collect::<Vec<_>>());
    let output = import(&folder, &[]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(text(&output.stdout).contains("  DIAGONAL_MATRIX: 3 passed, 0 differing, 0 not run\n"));
    let result = folder.path("export").join(&manifest(&folder).cases[1].outputs[0].result);
    let mut bytes = std::fs::read(&result).unwrap();
    bytes[4] ^= 0x40;
    std::fs::write(&result, bytes).unwrap();
    let report = folder.text_path("report.json");
    let output = import(&folder, &["--json", &report]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let printed = text(&output.stdout);
    let found = format!("differs: {}: OutputTensor: element [0, 0, 1]: expected ", ids[1]);
    assert!(printed.contains(&found) && printed.contains(", found "), "{printed}");
    let report: Value = serde_json::from_str(&std::fs::read_to_string(report).unwrap()).unwrap();
    let tally = json!({ "passed": 2, "differing": 1, "not_run": 0 });
    assert_eq!(report["operators"]["DIAGONAL_MATRIX"], tally);
    assert_eq!(report["cases"][1]["result"], "differs");
    let detail = report["cases"][1]["detail"].as_str().unwrap();
    assert!(detail.starts_with("OutputTensor: element [0, 0, 1]: expected "), "{detail}");
}

#[test]
fn what_has_no_result_is_not_run_and_says_why() {
    let (folder, ids) = three_cases();
    let failed =
        json!({ "id": ids[0], "exit_code": -1, "stderr": "first\nERROR: no such operator\n" });
    let too_long = json!({ "id": ids[1], "exit_code": null });
    record(&folder, &[failed, too_long]);
    let output = import(&folder, &[]);
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    let printed = text(&output.stdout);
    for (id, reason) in [
        (&ids[0], "DxDispatch ended with -1: ERROR: no such operator"),
        (&ids[1], "DxDispatch took too long"),
        (&ids[2], "no result is recorded"),
    ] {
        assert!(printed.contains(&format!("not run: {id}: {reason}\n")), "{printed}");
    }
    record(&folder, &ids.iter().map(|id| well_ended(id)).collect::<Vec<_>>());
    let file = |case: usize| manifest(&folder).cases[case].outputs[0].result.clone();
    std::fs::remove_file(folder.path("export").join(file(0))).unwrap();
    std::fs::write(folder.path("export").join(file(1)), [0; 3]).unwrap();
    let output = import(&folder, &[]);
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    let printed = text(&output.stdout);
    assert!(
        printed.contains(&format!("OutputTensor: there is no file {}\n", file(0))),
        "{printed}"
    );
    assert!(printed.contains(&format!("OutputTensor: {} has 3 bytes; ", file(1))), "{printed}");
}

#[test]
fn wrong_folders_are_wrong_usage() {
    let folder = Folder::new();
    let output = import(&folder, &[]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stderr).contains("manifest.json"), "{output:?}");
    let filter = ["--filter", "5_1/diagonal_matrix/int32/rank3/value_zero"];
    export(&folder, &filter);
    let target = folder.text_path("export");
    let output = conformance(&[&["export", "--dxdispatch", &target], &filter[..]].concat());
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stderr).contains("is not empty; accepted: a new or an empty folder"));
    // Nothing was run yet.
    let output = import(&folder, &[]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stderr).contains("results.json"), "{output:?}");
}
