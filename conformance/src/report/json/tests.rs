use serde_json::Value;

use super::*;
use crate::results::samples;

fn written(run: &Run) -> String {
    let mut text = Vec::new();
    write(run, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

fn error(text: &str) -> String {
    format!("{:#}", parse(text.as_bytes()).unwrap_err())
}

#[test]
fn what_is_written_is_read_back() {
    let run = samples::run();
    assert_eq!(parse(written(&run).as_bytes()).unwrap(), run);
    let empty = Run { targets: vec![], ..run };
    assert_eq!(parse(written(&empty).as_bytes()).unwrap(), empty);
}

#[test]
fn programs_find_counts_and_verdicts_by_name() {
    let json: Value = serde_json::from_str(&written(&samples::run())).unwrap();
    for counts in [
        &json["total"],
        &json["targets"][0]["total"],
        &json["targets"][0]["levels"]["5_1"],
        &json["targets"][0]["operators"]["diagonal_matrix".to_uppercase()],
    ] {
        assert_eq!(counts["verdict"], "not-conformant");
        assert_eq!(counts["cases"], 8);
        assert_eq!(counts["unexpected-pass"], 1);
        assert_eq!(counts["executed"], 1);
        assert_eq!((&counts["dispatched"], &counts["host_made"]), (&1.into(), &0.into()));
    }
    assert_eq!(json["targets"][0]["title"], "Sample <device> & co");
    let json: Value = serde_json::from_str(&written(&samples::interpreted())).unwrap();
    for counts in [&json["total"], &json["targets"][0]["levels"]["5_1"]] {
        assert_eq!((&counts["verdict"], &counts["not-run"]), (&"plans-verified".into(), &1.into()));
    }
}

#[test]
fn a_case_that_did_not_pass_is_a_line() {
    let text = written(&samples::run());
    let line =
        text.lines().find(|line| line.contains("\"id\":\"5_1/diagonal_matrix/int32/")).unwrap();
    let line = line.trim().trim_end_matches(',');
    let case: crate::results::CaseResult = serde_json::from_str(line).unwrap();
    assert_eq!(case.result, ResultCode::Fail);
    assert!(text.starts_with("{\n  \"format\": 2,\n"), "{text}");
    assert!(text.contains("    \"not-run\": 1\n  },\n"), "{text}");
    assert!(text.ends_with("]\n}\n"), "{text}");
}

#[test]
fn members_keep_their_order() {
    let text = written(&samples::run());
    let places: Vec<_> =
        ["\"format\"", "\"conformance_version\"", "\"selection\"", "\"total\"", "\"targets\""]
            .map(|member| text.find(member).unwrap())
            .to_vec();
    assert!(places.is_sorted(), "{places:?}");
    assert_eq!(text, written(&samples::run()));
}

#[test]
fn unknown_members_of_the_same_format_are_left_out() {
    let text = written(&samples::run());
    let more = text.replace("\"result\":", "\"weather\":{\"rain\":[1]},\"result\":");
    let more = more.replacen('{', "{\"new\": 1,", 1);
    assert_ne!(more, text);
    assert_eq!(parse(more.as_bytes()).unwrap(), samples::run());
}

#[test]
fn reports_that_counted_no_kernels_are_read() {
    let mut run = samples::run();
    run.targets[0].kernels = None;
    run.targets[0].passes.iter_mut().for_each(|passes| passes.dispatched = 0);
    let text = written(&run);
    let old = text.replace(",\"dispatched\":0", "").replace("\"dispatched\":true,", "");
    assert_ne!(old, text);
    assert_eq!(parse(old.as_bytes()).unwrap(), run);
}

#[test]
fn other_formats_are_refused_with_both_numbers() {
    let text = written(&samples::run());
    let with = |format: &str| text.replacen("\"format\": 2", &format!("\"format\": {format}"), 1);
    let wrong = [
        ("3", ": a later dml-conformance wrote it"),
        ("1", ": an earlier dml-conformance wrote it"),
        ("0", ""),
        ("\"2\"", ""),
    ];
    for (format, hint) in wrong {
        assert_eq!(error(&with(format)), format!("`format` is {format}, accepted is 2{hint}"));
    }
}

#[test]
fn foreign_json_is_refused() {
    assert!(error("{\"devices\": []}").contains("no member `format`, accepted is 2"));
    assert!(error("7").contains("expected an object that `dml-conformance run"), "{}", error("7"));
    assert!(error("").contains("line 1"), "{}", error(""));
    assert!(error("{\"format\": 2}").contains("missing field `conformance_version`"));
}

#[test]
fn a_wrong_value_is_named_with_its_member_and_what_is_accepted() {
    let text = written(&samples::run());
    let message = error(&text.replacen("\"result\":\"fail\"", "\"result\":\"failed\"", 1));
    assert!(message.starts_with("`targets[0].cases[0].result`: "), "{message}");
    assert!(message.contains("`failed`") && message.contains("`unexpected-pass`"), "{message}");
    let message =
        error(&text.replacen("\"id\":\"5_1/diagonal_matrix/int32/", "\"id\":\"5_1/a/int33/", 1));
    assert!(message.starts_with("`targets[0].cases[0].id`: "), "{message}");
    let message = error(&(text + "x"));
    assert!(message.contains("trailing characters"), "{message}");
}

#[test]
fn errors_name_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.json");
    let message = format!("{:#}", read(&path).unwrap_err());
    assert!(message.starts_with("cannot read ") && message.contains("run.json"), "{message}");
    std::fs::write(&path, "{}").unwrap();
    let message = format!("{:#}", read(&path).unwrap_err());
    assert!(message.starts_with("cannot use ") && message.contains("run.json"), "{message}");
    std::fs::write(&path, written(&samples::run())).unwrap();
    assert_eq!(read(&path).unwrap(), samples::run());
}

/// Where the form changes, `dml-conformance convert FILE --format json` writes the file anew.
#[test]
fn the_sample_is_in_the_present_form() {
    let text = include_str!("../../../tests/reports/sample.json");
    let run = parse(text.as_bytes()).unwrap();
    assert_eq!(written(&run), text);
    let occurs = |result| run.total().of(result) > 0;
    let missing: Vec<_> = ResultCode::ALL.into_iter().filter(|result| !occurs(*result)).collect();
    assert_eq!(missing, [ResultCode::NotRun]);
}
