//! The JSON form: everything that a run found, with its counts; one case that did not pass a line.

mod lines;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize};

use crate::results::{Agreement, Counts, FORMAT, ResultCode, Run, Selection, TargetRun, Verdict};

/// The members of a [`Run`], and what programs would have to count otherwise.
#[derive(Serialize)]
struct RunForm<'a> {
    format: u32,
    conformance_version: &'a str,
    selection: &'a Selection,
    total: CountsForm,
    #[serde(skip_serializing_if = "Option::is_none")]
    agreement: Option<Agreement>,
    targets: Vec<TargetForm<'a>>,
}

#[derive(Serialize)]
struct TargetForm<'a> {
    title: String,
    total: CountsForm,
    /// Levels by name: their order is that of their names.
    levels: BTreeMap<String, CountsForm>,
    operators: BTreeMap<String, CountsForm>,
    #[serde(flatten)]
    target: &'a TargetRun,
}

#[derive(Serialize)]
struct CountsForm {
    verdict: Verdict,
    cases: u64,
    executed: u64,
    dispatched: u64,
    host_made: u64,
    #[serde(flatten)]
    results: BTreeMap<ResultCode, u64>,
}

impl From<Counts> for CountsForm {
    fn from(counts: Counts) -> Self {
        let results = ResultCode::ALL.into_iter().map(|code| (code, counts.of(code)));
        Self {
            verdict: counts.verdict(),
            cases: counts.all(),
            executed: counts.executed(),
            dispatched: counts.dispatched(),
            host_made: counts.host_made(),
            results: results.collect(),
        }
    }
}

impl<'a> From<&'a TargetRun> for TargetForm<'a> {
    fn from(target: &'a TargetRun) -> Self {
        let levels = target.levels().into_iter();
        let operators = target.operators().into_iter();
        Self {
            title: target.title(),
            total: target.total().into(),
            levels: levels.map(|(level, counts)| (level.to_string(), counts.into())).collect(),
            operators: operators.map(|(name, counts)| (name, counts.into())).collect(),
            target,
        }
    }
}

/// Writes `run` as JSON.
pub(super) fn write(run: &Run, output: &mut dyn io::Write) -> io::Result<()> {
    let form = RunForm {
        format: run.format,
        conformance_version: &run.conformance_version,
        selection: &run.selection,
        total: run.total().into(),
        agreement: run.agreement,
        targets: run.targets.iter().map(TargetForm::from).collect(),
    };
    let formatter = lines::Lines::default();
    form.serialize(&mut serde_json::Serializer::with_formatter(&mut *output, formatter))?;
    writeln!(output)
}

/// Reads a run that [`write`](super::write) wrote as JSON. Members that it does not know are left out.
///
/// # Errors
/// The file cannot be read; it is no such run, or one of another [`FORMAT`]; a member is missing or
/// has a wrong value. The message names the file and the member.
pub fn read(path: &Path) -> anyhow::Result<Run> {
    let text = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    parse(&text).with_context(|| format!("cannot use {}", path.display()))
}

fn parse(text: &[u8]) -> anyhow::Result<Run> {
    #[derive(Deserialize)]
    #[serde(expecting = "an object that `dml-conformance run --format json` wrote")]
    struct Head {
        format: Option<serde_json::Value>,
    }

    let head: Head = serde_json::from_slice(text).context("it is not a report in JSON")?;
    match head.format {
        Some(format) if format == FORMAT => {
            serde_json::from_slice(text).map_err(|error| with_member(text, error))
        }
        Some(format) => {
            let hint = match format.as_u64() {
                Some(later) if later > u64::from(FORMAT) => ": a later dml-conformance wrote it",
                Some(1) => ": an earlier dml-conformance wrote it",
                _ => "",
            };
            bail!("`format` is {format}, accepted is {FORMAT}{hint}");
        }
        None => bail!(
            "it has no member `format`, accepted is {FORMAT}: \
             `dml-conformance run --format json` did not write it"
        ),
    }
}

/// `error` with the member that it is about. Only here, since looking for it takes time.
fn with_member(text: &[u8], error: serde_json::Error) -> anyhow::Error {
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    match serde_path_to_error::deserialize::<_, Run>(&mut deserializer) {
        Err(traced) if traced.path().iter().next().is_some() => {
            anyhow::anyhow!("`{}`: {}", traced.path(), traced.inner())
        }
        _ => error.into(),
    }
}

#[cfg(test)]
mod tests;
