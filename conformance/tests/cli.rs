//! The command line of the runner: what it prints and its exit codes.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::process::Stdio;

use common::{Folder, conformance, runner, text};
use dml::Numerics;
use dml_conformance::results::{ResultCode, Verdict};

const INTERPRETER: [&str; 2] = ["--device", "interpreter"];

#[test]
fn list_prints_the_ids_that_match() {
    let output =
        conformance(&["list", "--feature-level", "5_1", "--filter", "*/*_matrix/*/doc_shift_*"]);
    assert_eq!(output.status.code(), Some(0));
    let expected = ["right_up", "left_down", "all_zeros"]
        .map(|way| format!("5_1/diagonal_matrix/float32/rank4/doc_shift_{way}\n"))
        .concat();
    assert_eq!(text(&output.stdout), expected);
}

#[test]
fn the_largest_errors_follow_the_table_of_a_run_and_of_its_report() {
    let folder = Folder::new();
    let id = |data_type: &str| format!("5_1/element_wise_add/{data_type}/rank4/values\n");
    let list = folder.write("list", &["float16", "float32", "int8"].map(id).concat());
    let arguments = ["--case-list", &list, "--errors"];
    let (run, output) = folder.run(runner(), &[&INTERPRETER[..], &arguments].concat());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let errors = run.targets[0].errors.iter();
    let errors: Vec<_> =
        errors.map(|error| (&*error.data_type, error.allowed, error.ulp, error.cases)).collect();
    assert_eq!(errors, [("FLOAT16", 0, Some(0), 1), ("FLOAT32", 0, Some(0), 1)]);
    let printed = text(&output.stdout);
    let lines = printed.lines().filter(|line| line.starts_with("| ELEMENT_WISE_ADD "));
    assert!(lines.count() == 2 && printed.ends_with("0 |\n"), "{printed}");
    let report = folder.text_path("report.json");
    assert_eq!(text(&conformance(&["convert", &report, "--errors"]).stdout), printed);
    assert!(printed.starts_with(&text(&conformance(&["convert", &report]).stdout)));
}

#[test]
fn run_prints_a_table_for_each_device_and_writes_json() {
    let folder = Folder::new();
    let (run, output) = folder.run(runner(), &["--filter", "*/diagonal_matrix/*/doc_*"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(!run.targets.is_empty());
    assert!(text(&output.stderr).starts_with("56 cases, "), "{}", text(&output.stderr));
    for target in &run.targets {
        assert!(text(&output.stdout).contains(&target.device.name));
        // Four examples at each of the 14 levels that have the operator.
        assert_eq!(target.total().of(ResultCode::Pass), 56);
        assert_eq!(target.total().all(), 56);
        assert!(!target.device.driver_name.is_empty() && !target.support.is_empty());
    }
}

#[test]
fn a_profile_lowers_what_a_device_has() {
    let folder = Folder::new();
    let limit = |profile: &[&str]| {
        let filter = ["--filter", "5_1/diagonal_matrix/float32/rank2/*"];
        let (run, output) = folder.run(runner(), &[&filter, profile].concat());
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let target = &run.targets[0];
        (
            target.limits["maxStorageBufferRange"],
            target.profile.as_ref().map(|profile| profile.name.clone()),
        )
    };
    let name = "storage-range-16-kib";
    assert_eq!(limit(&["--profile", "16-kib"]), (16_384, Some(name.to_owned())));
    let (as_is, profile) = limit(&[]);
    assert!(as_is >= 1 << 27 && profile.is_none());
    let (run, _) = {
        let mut command = runner();
        command.env("DML_PROFILE", name);
        folder.run(command, &["--filter", "5_1/diagonal_matrix/float32/rank2/offset_zero"])
    };
    assert_eq!(run.targets[0].limits["maxStorageBufferRange"], 16_384);
}

#[test]
fn robust_access_is_as_the_option_says_else_the_environment() {
    let folder = Folder::new();
    let run = |variable: &str, option: &[&str]| {
        let mut command = runner();
        command.env("DML_ROBUST_ACCESS", variable);
        let filter = ["--filter", "5_1/diagonal_matrix/float32/rank2/offset_zero"];
        let (run, output) = folder.run(command, &[&filter, option].concat());
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let robust_access = run.targets[0].robust_access.unwrap();
        let line = format!(", robust access {}\n", if robust_access { "on" } else { "off" });
        assert!(text(&output.stdout).contains(&line), "{output:?}");
        robust_access
    };
    assert_eq!(["", "on", "off"].map(|it| run(it, &[])), [true, true, false]);
    assert!(run("off", &["--robust-access", "on"]) && !run("on", &["--robust-access", "off"]));
    let output = conformance(&["run", "--robust-access", "no"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

#[test]
fn all_profiles_run_once_for_each_effect_on_a_device() {
    let folder = Folder::new();
    let filter = ["--filter", "5_1/diagonal_matrix/int8/rank2/offset_zero", "--profile", "all"];
    let (run, output) = folder.run(runner(), &filter);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let devices: std::collections::BTreeSet<_> =
        run.targets.iter().map(|target| &target.device.uuid).collect();
    for uuid in devices {
        let targets: Vec<_> =
            run.targets.iter().filter(|target| target.device.uuid == *uuid).collect();
        let profiles = targets.iter().map(|target| 1 + target.profile.as_ref().unwrap().also.len());
        assert_eq!(profiles.sum::<usize>(), dml::profiles::names().count());
        assert!(targets.len() > 5);
        assert!(
            targets.iter().any(|target| !target.profile.as_ref().unwrap().shortfalls.is_empty())
        );
    }
}

#[test]
fn shards_and_lists_choose_cases() {
    let folder = Folder::new();
    let ids = |more: &[&str]| {
        let chosen = [&["--feature-level", "2_1", "--filter", "*/int8/*"], more].concat();
        let listed = text(&conformance(&[&["list"], &*chosen].concat()).stdout);
        let ids: Vec<String> = listed.lines().map(str::to_owned).collect();
        let (run, _) = folder.run(runner(), &[&INTERPRETER, &*chosen].concat());
        assert_eq!(run.total().all(), ids.len() as u64, "{more:?}");
        ids
    };
    let all = ids(&[]);
    let mut union = [ids(&["--shard", "1/2"]), ids(&["--shard", "2/2"])].concat();
    assert_eq!(union.len(), all.len());
    union.sort();
    let mut sorted = all.clone();
    sorted.sort();
    assert_eq!(union, sorted);
    let list = folder.write("list", &format!("# two\n{}\n{} # why\n", all[5], all[3]));
    assert_eq!(ids(&["--case-list", &list]), [all[5].clone(), all[3].clone()]);
}

#[test]
fn a_random_case_is_found_by_its_id() {
    let id = "6_4/diagonal_matrix1/int16/rank4/random_7_12";
    let output = conformance(&["list", "--filter", id]);
    assert_eq!(text(&output.stdout), format!("{id}\n"));
    let folder = Folder::new();
    let output = conformance(&[&["run", "--filter", id][..], &INTERPRETER].concat());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let list = folder.write("list", id);
    let output = conformance(&["list", "--case-list", &list, "--feature-level", "1_0"]);
    assert_eq!(text(&output.stdout), format!("{id}\n"));
}

#[test]
fn show_prints_descriptor_plan_and_both_matrices() {
    for device in [&[][..], &INTERPRETER, &["--no-isolation"]] {
        let id = "5_1/diagonal_matrix/int16/rank2/shape_row";
        let output = conformance(&[&["show", id][..], device].concat());
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let text = text(&output.stdout);
        for part in
            [": pass", "OutputTensor: INT16 [1, 13]", "Offset: 12", "plan", "expected", "actual"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}

#[test]
fn diff_finds_what_got_worse() {
    let folder = Folder::new();
    let report = |name: &str, fault: &str| {
        let mut command = runner();
        command.env("DML_CONFORMANCE_TEST_FAULT", fault);
        let path = folder.text_path(name);
        let filter = [
            "run",
            "--filter",
            "5_1/diagonal_matrix/*/doc_*",
            "--format",
            "json",
            "--output",
            &path,
        ];
        command.args(filter).args(INTERPRETER).output().unwrap();
        path
    };
    let good = report("good.json", "");
    let bad = report("bad.json", "crash:*/doc_shift_right_up");
    let code = |a: &str, b: &str| conformance(&["diff", a, b]).status.code();
    assert_eq!(code(&good, &good), Some(0));
    assert_eq!(code(&bad, &good), Some(0));
    assert_eq!(code(&good, &bad), Some(1));
    let output = conformance(&["diff", &good, &bad]);
    assert!(text(&output.stdout).contains("doc_shift_right_up"), "{}", text(&output.stdout));
    assert_eq!(code(&good, "no/such/file.json"), Some(2));
    let table = folder.write("table.txt", "a table\n");
    assert_eq!(code(&good, &table), Some(2));
}

#[test]
fn what_a_limit_refuses_is_incomplete_unless_allowed() {
    let folder = Folder::new();
    let limits = "about = 'A descriptor shows 4 bytes.'\n[limits]\n\
                           maxStorageBufferRange = 260\nminStorageBufferOffsetAlignment = 256\n";
    let profile = folder.write("small.toml", limits);
    // By kernels, which need a descriptor for 8 bytes.
    let filter = ["--filter", "5_1/*/int64/*/offset_*", "--strategy", "kernel"];
    let code = |more: &[&str]| {
        let chosen = [&filter[..], &["--profile", &profile], more].concat();
        let (run, output) = folder.run(runner(), &chosen);
        assert!(run.total().of(ResultCode::Unsupported) > 0, "{output:?}");
        assert_eq!(run.total().verdict(), Verdict::Incomplete);
        (output.status.code(), text(&output.stderr).contains("--allow-unsupported"))
    };
    assert_eq!(code(&[]), (Some(4), true));
    assert_eq!(code(&["--allow-unsupported"]), (Some(0), false));
}

#[test]
fn fast_numerics_are_named_by_the_table_and_the_report() {
    let folder = Folder::new();
    let filter = ["--filter", "1_0/gemm/float32/rank4/{values,ones}_*"];
    let arguments = [&INTERPRETER[..], &filter, &["--numerics", "fast"]].concat();
    let (run, output) = folder.run(runner(), &arguments);
    assert_eq!((output.status.code(), run.targets[0].numerics), (Some(0), Numerics::Fast));
    let printed = text(&output.stdout);
    assert!(printed.contains(" with fast numerics\n"), "{printed}");
    assert!(printed.contains(", numerics fast, validation off"), "{printed}");
    let (run, _) = folder.run(runner(), &[&INTERPRETER[..], &filter].concat());
    assert_eq!(run.targets[0].numerics, Numerics::Exact);
}

#[test]
fn refusals_alone_are_not_executed_and_say_so() {
    let folder = Folder::new();
    let arguments = |filter| [&INTERPRETER[..], &["--filter", filter]].concat();
    let (run, output) = folder.run(runner(), &arguments("1_0/*/float32/*/{refused,values}*"));
    let printed = text(&output.stdout);
    // The level has one of these two operators, which is enough for its verdict.
    assert_eq!((output.status.code(), run.total().verdict()), (Some(0), Verdict::PlansVerified));
    assert!(
        printed.contains("; not executed: ") && printed.contains("DIAGONAL_MATRIX"),
        "{printed}"
    );
    let verdict = |name: &str| run.targets[0].operators()[name].verdict();
    assert_eq!(verdict("DIAGONAL_MATRIX"), Verdict::NotExecuted);
    assert_eq!(verdict("ELEMENT_WISE_IDENTITY"), Verdict::PlansVerified);
    let (run, output) = folder.run(runner(), &arguments("1_0/diagonal_matrix/int8/rank2/*"));
    assert_eq!((output.status.code(), run.total().verdict()), (Some(0), Verdict::NotExecuted));
    assert!(text(&output.stdout).contains(": not executed, "), "{output:?}");
}

#[test]
fn an_operator_of_which_a_limit_refuses_every_case_is_never_as_expected() {
    let folder = Folder::new();
    let limits = "about = 'A descriptor shows 4 bytes.'\n[limits]\n\
                           maxStorageBufferRange = 260\nminStorageBufferOffsetAlignment = 256\n";
    let profile = folder.write("small.toml", limits);
    let filter = ["--filter", "5_1/diagonal_matrix/int64/rank2/offset_zero"];
    let how = ["--strategy", "kernel", "--profile", &profile, "--allow-unsupported"];
    let (run, output) = folder.run(runner(), &[&filter[..], &how].concat());
    assert_eq!((output.status.code(), run.total().verdict()), (Some(4), Verdict::Incomplete));
    let words = "no case was executed of DIAGONAL_MATRIX";
    assert!(text(&output.stderr).contains(words), "{}", text(&output.stderr));
}

#[test]
fn the_interpreter_says_what_it_cannot_run() {
    let folder = Folder::new();
    let cases = |filter: &str| {
        let filter = format!("5_1/diagonal_matrix/{filter}");
        folder.run(runner(), &[&INTERPRETER[..], &["--filter", &filter]].concat())
    };
    let filter = "5_1/diagonal_matrix/*/binding_*";
    let bindings = text(&conformance(&["list", "--filter", filter]).stdout).lines().count() as u64;
    let (run, output) = cases("*/*_*");
    let total = run.total();
    assert_eq!((output.status.code(), total.verdict()), (Some(0), Verdict::PlansVerified));
    assert!(bindings >= 4 && total.of(ResultCode::NotRun) == bindings, "{bindings}");
    let counts = format!("0 failed, {bindings} not run");
    assert!(text(&output.stderr).contains(&counts), "{}", text(&output.stderr));
    assert!(!text(&output.stdout).contains("conformant"), "{}", text(&output.stdout));
    let (run, output) = cases("*/binding_*");
    assert_eq!((output.status.code(), run.total().verdict()), (Some(4), Verdict::Incomplete));
}

#[test]
fn wrong_usage_is_2() {
    let folder = Folder::new();
    let wrong_list = folder.write("list", "5_1/diagonal_matrix/int8/rank2/offset_zero\nnonsense\n");
    let wrong_entry = folder.write("wrong.toml", "[[expect]]\ncases = '*'\nresult = 'maybe'\n");
    let doc = ["run", "--filter", "*/diagonal_matrix/*/doc_*"];
    for (arguments, named) in [
        (&["run", "--feature-level", "7_0"][..], "6_4"),
        (&["run", "--filter", "["], "--filter"),
        (&["run", "--filter", "5_1/no_such_case"], "list"),
        (&[&doc[..], &["--device", "no such device"]].concat(), "no such device"),
        (&[&doc[..], &["--profile", "no such profile"]].concat(), "no such profile"),
        (&[&doc[..], &["--output", "no/such/folder/report.json"]].concat(), "no/such/folder"),
        (&[&doc[..], &["--case-list", &wrong_list]].concat(), "line 2"),
        (&[&doc[..], &["--case-list", "no/such/list"]].concat(), "no/such/list"),
        (&[&doc[..], &["--expectations", &wrong_entry]].concat(), "`maybe`"),
        (&[&doc[..], &["--icd", "no/such/icd.json"]].concat(), "no/such/icd.json"),
        (&[&doc[..], &["--shard", "3/2"]].concat(), "2/3"),
        (&[&doc[..], &["--jobs", "0"]].concat(), "--jobs"),
        (&[&doc[..], &["--timeout", "0"]].concat(), "--timeout"),
        (&[&doc[..], &["--no-isolation", "--jobs", "2"]].concat(), "--jobs"),
        (&["show", "5_1/diagonal_matrix/int8/rank2/nothing"], "there is no case"),
        (&["show", "5_1/softmax/int8/rank2/values"], "(did you mean ACTIVATION_SOFTMAX, "),
        (&["list", "--filter", "*/softmax/*"], "(did you mean activation_softmax, "),
        (&[&doc[..], &["--profile", "gefroce"]].concat(), "(did you mean nvidia-geforce"),
        (
            &[&doc[..], &["--strategy", "fil-and-scatter"]].concat(),
            "(did you mean fill-and-scatter?)",
        ),
        (
            &[&doc[..], &["--numerics", "quick"]].concat(),
            "'--numerics <exact|fast>': unknown numerics 'quick'; accepted: exact, fast",
        ),
        (&["show", "nonsense"], "is not a case id"),
        (
            &[
                "show",
                "5_1/diagonal_matrix/int8/rank2/offset_zero",
                "--device",
                "interpreter",
                "--profile",
                "all",
            ],
            "a case on one device",
        ),
        (
            &["show", "5_1/diagonal_matrix/int8/rank2/binding_missing", "--device", "interpreter"],
            "needs a Vulkan device",
        ),
        (&["no-such-command"], "no-such-command"),
    ] {
        let output = conformance(arguments);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(error.contains(named), "{arguments:?}: {error}");
    }
}

#[test]
fn no_device_is_3_and_says_what_to_install() {
    for isolation in [&[][..], &["--no-isolation"]] {
        let output = runner()
            .args(["run", "--filter", "*/diagonal_matrix/*/doc_*"])
            .args(isolation)
            .env("VK_DRIVER_FILES", "/nonexistent.json")
            .env("VK_ICD_FILENAMES", "/nonexistent.json")
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains("mesa-vulkan-drivers"), "{}", text(&output.stderr));
    }
}

#[test]
fn an_icd_is_the_only_driver() {
    let Ok(files) = std::env::var("VK_DRIVER_FILES") else {
        panic!("no driver files are named; run `cargo xtask test`");
    };
    let first = std::env::split_paths(&files).next().unwrap();
    let folder = Folder::new();
    let filter = ["--filter", "5_1/diagonal_matrix/*/doc_*"];
    let icd = ["--icd", first.to_str().unwrap()];
    // Whatever the environment says.
    let mut command = runner();
    command.env("VK_DRIVER_FILES", "/nonexistent.json");
    let (run, output) = folder.run(command, &[&filter[..], &icd].concat());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(run.targets.len(), 1);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    use std::io::Read as _;
    let mut runner = runner()
        .args(["list", "--feature-level", "1_0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 16];
    runner.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = runner.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(text(&output.stderr), "");
}
