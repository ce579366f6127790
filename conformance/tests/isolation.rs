//! A case that crashes or hangs costs itself and nothing else.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{Folder, conformance, find, results, runner, text};
use dml_conformance::results::{ResultCode, TargetRun};

const FAULT: &str = "DML_CONFORMANCE_TEST_FAULT";
const DOCUMENTED: &str = "5_1/diagonal_matrix/*/doc_*";

fn faulty(fault: &str) -> Command {
    let mut command = runner();
    command.env(FAULT, fault);
    command
}

#[test]
fn a_crash_is_one_result_and_the_run_goes_on_on_every_device() {
    let folder = Folder::new();
    let fault = "crash:*/doc_shift_right_up";
    let (run, output) = folder.run(faulty(fault), &["--filter", DOCUMENTED]);
    assert_eq!(output.status.code(), Some(1));
    let note = format!("note: {FAULT}={fault}: workers fail on purpose");
    assert!(text(&output.stderr).contains(&note), "{}", text(&output.stderr));
    assert!(!run.targets.is_empty());
    for target in &run.targets {
        let codes: Vec<_> = target.cases.iter().map(|case| case.result).collect();
        assert_eq!(codes, [ResultCode::Crash], "{}", target.title());
        assert_eq!(target.total().of(ResultCode::Pass), 3, "{}", target.title());
    }
    let detail = find(&run, "doc_shift_right_up").detail.as_deref().unwrap();
    if cfg!(unix) {
        assert!(detail.contains("SIGABRT"), "{detail}");
    }
    assert!(detail.contains("crashing in 5_1/diagonal_matrix/float32/rank4"), "{detail}");
}

#[test]
fn a_case_that_hangs_is_ended_in_time() {
    let folder = Folder::new();
    let arguments = ["--filter", DOCUMENTED, "--timeout", "1", "--jobs", "1"];
    let start = Instant::now();
    let (run, output) = folder.run(faulty("hang:*/doc_shift_left_down"), &arguments);
    assert_eq!(output.status.code(), Some(1));
    for target in &run.targets {
        let codes: Vec<_> = target.cases.iter().map(|case| case.result).collect();
        assert_eq!(codes, [ResultCode::Timeout], "{}", target.title());
        assert_eq!(target.total().of(ResultCode::Pass), 3, "{}", target.title());
    }
    let detail = find(&run, "doc_shift_left_down").detail.as_deref();
    assert_eq!(detail, Some("not done after 1 seconds"));
    assert!(start.elapsed() > Duration::from_secs(1));
}

#[test]
fn every_case_has_its_result_where_all_of_them_crash() {
    let folder = Folder::new();
    let filter = ["--filter", "5_1/diagonal_matrix/*/*/offset_*"];
    let listed = conformance(&[&["list"][..], &filter].concat());
    let arguments = [&["--device", "interpreter"][..], &filter].concat();
    let (run, _) = folder.run(faulty("crash:*"), &arguments);
    let results = results(&run);
    assert!(results.len() > 5 && results.len() == text(&listed.stdout).lines().count());
    assert!(results.iter().all(|(_, result)| *result == ResultCode::Crash), "{results:?}");
}

#[test]
fn any_number_of_jobs_reports_the_same_in_the_same_order() {
    let folder = Folder::new();
    let report = |jobs: &str| {
        let arguments = ["--feature-level", "2_1", "--filter", "*/int8/*", "--jobs", jobs];
        let (run, _) = folder.run(faulty("crash:*/rank4/value*"), &arguments);
        let totals: Vec<_> = run.targets.iter().map(TargetRun::total).collect();
        (results(&run), totals)
    };
    let one = report("1");
    let (crashed, passed) = (one.0.len(), one.1[0].of(ResultCode::Pass));
    assert!(crashed > 5 && passed > 50, "{crashed} {passed}");
    assert!(one.0.iter().all(|(_, result)| *result == ResultCode::Crash));
    assert_eq!(one, report("5"));
}

#[test]
fn an_expectation_excuses_a_crash_only_where_it_says_so() {
    let folder = Folder::new();
    let rest = "result = 'never'\nreason = 'x'\n";
    let with = |outcome: &str, command: Command| {
        let text = format!("[[expect]]\ncases = '*/doc_shift_right_up'\n{outcome}\n{rest}");
        let file = folder.write("expected.toml", &text);
        let arguments =
            ["--device", "interpreter", "--filter", DOCUMENTED, "--expectations", &file];
        let (run, output) = folder.run(command, &arguments);
        (output.status.code(), find(&run, "doc_shift_right_up").result)
    };
    let crashing = || faulty("crash:*/doc_shift_right_up");
    assert_eq!(with("outcome = 'crash'", crashing()), (Some(0), ResultCode::ExpectedFail));
    assert_eq!(with("outcome = 'timeout'", crashing()), (Some(1), ResultCode::Crash));
    assert_eq!(with("", crashing()), (Some(1), ResultCode::Crash));
    assert_eq!(with("outcome = 'crash'", runner()), (Some(1), ResultCode::UnexpectedPass));
}

#[test]
fn a_fault_that_is_none_ends_the_run() {
    let output = faulty("explode:*")
        .args(["run", "--device", "interpreter", "--filter", DOCUMENTED])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let error = text(&output.stderr);
    assert!(error.contains("\"explode:*\"; accepted: crash:GLOB, hang:GLOB"), "{error}");
}

/// As when the runner is killed while a case hangs.
#[test]
fn a_worker_ends_when_its_input_does() {
    let folder = Folder::new();
    // What the runner tells its workers, from the interpreter's own description.
    let opening = r#"{"validation":false}"#;
    let survey = r#"{"survey":{"devices":"interpreter","profiles":"as-is","opening":OPENING}}"#;
    let targets = worker_says(&survey.replace("OPENING", opening), &mut runner());
    let json = targets.trim_start_matches('\u{1e}');
    let target = &serde_json::from_str::<serde_json::Value>(json).unwrap()["Ok"]["targets"][0];
    let open = format!(r#"{{"open":{{"target":{target},"details":"failures"}}}}"#);
    let mut worker = faulty("hang:*")
        .arg("worker")
        .current_dir(folder.path(""))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = worker.stdin.take().unwrap();
    writeln!(input, "{open}\n5_1/diagonal_matrix/int8/rank2/offset_zero").unwrap();
    let mut ready = String::new();
    BufReader::new(worker.stdout.take().unwrap()).read_line(&mut ready).unwrap();
    assert!(ready.contains("ready"), "{ready}");
    assert!(worker.try_wait().unwrap().is_none());
    drop(input);
    assert_eq!(worker.wait().unwrap().code(), Some(1));
}

fn worker_says(request: &str, command: &mut Command) -> String {
    let mut worker =
        command.arg("worker").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    writeln!(worker.stdin.as_mut().unwrap(), "{request}").unwrap();
    text(&worker.wait_with_output().unwrap().stdout)
}
