//! The run as JSON.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;

use super::{Counts, Reason, Run};
use crate::onnx::passing::Changes;
use crate::results::onnx::{Distance, Outcome, TargetResults};

/// Counts up when a member changes its meaning or goes away.
const FORMAT: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    format: u32,
    conformance_version: &'static str,
    targets: Vec<Target<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<&'a Changes>,
}

#[derive(Serialize)]
struct Target<'a> {
    device: &'a str,
    seconds: f64,
    total: Counts,
    operators: BTreeMap<&'a str, Counts>,
    reasons: Vec<Reason<'a>>,
    tests: Vec<Test<'a>>,
}

#[derive(Serialize)]
struct Test<'a> {
    id: &'a str,
    operators: Vec<&'a str>,
    outcome: Outcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    distance: Option<Distance>,
}

/// Writes `run`: for each target its counts, in all and by operator, the reasons of what was not run, and
/// every test.
///
/// # Errors
/// The output cannot be written.
pub fn write(run: &Run, output: &mut dyn Write) -> io::Result<()> {
    let document = Document {
        format: FORMAT,
        conformance_version: env!("CARGO_PKG_VERSION"),
        targets: run.targets.iter().map(|it| target(run, it)).collect(),
        changes: run.changes.as_ref(),
    };
    serde_json::to_writer_pretty(&mut *output, &document)?;
    writeln!(output)
}

fn target<'a>(run: &'a Run, target: &'a TargetResults) -> Target<'a> {
    let tests = run.with(target).map(|(test, ended)| Test {
        id: &test.id,
        operators: test.operators.iter().map(String::as_str).collect(),
        outcome: ended.outcome,
        detail: ended.detail.as_deref(),
        distance: ended.distance,
    });
    Target {
        device: &target.title,
        seconds: target.seconds,
        total: run.total(target),
        operators: run.operators(target),
        reasons: run.reasons(target),
        tests: tests.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;

    #[test]
    fn everything_is_written() {
        let mut bytes = Vec::new();
        write(&samples::run(), &mut bytes).unwrap();
        let json: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        let target = &json["targets"][1];
        assert_eq!(target["device"], "two");
        assert_eq!(target["total"]["not_run"], 2);
        assert_eq!(target["operators"]["Abs"]["wrong"], 1);
        assert_eq!(target["reasons"][0]["tests"], serde_json::json!(["node/b", "node/c"]));
        assert_eq!(target["tests"][3]["outcome"], "wrong");
        assert_eq!(target["tests"][3]["detail"], "output 'y': element [0] is 1, must be 2");
        assert!(json.get("changes").is_none());
    }
}
