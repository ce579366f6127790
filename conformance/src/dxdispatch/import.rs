//! Compares what DxDispatch has written with what must be there, as the runner does.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context as _, ensure};
use dml::TensorLayout;
use dml_reference::{Output, SENTINEL, Tensor, elements_in};
use serde::Serialize;

use super::manifest::{ExportedCase, ExportedOutput, Manifest, Record, RecordedResult, inside};
use crate::exit;

/// The result of one case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "result", content = "detail")]
pub enum Verdict {
    /// Every element of every output is as it must be.
    Passed,
    /// The first element that is not, in words.
    Differs(String),
    /// There is no result, and why.
    NotRun(String),
}

/// A case and what came of it.
#[derive(Debug, Serialize)]
pub struct CaseComparison {
    /// The case.
    pub id: String,
    /// DirectML's name of the operator.
    pub operator: String,
    /// The result.
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// How many cases there are of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Cases that passed.
    pub passed: u64,
    /// Cases whose outputs differ.
    pub differing: u64,
    /// Cases without a result.
    pub not_run: u64,
}

/// All cases of an export, and what came of them.
#[derive(Debug, Serialize)]
pub struct Comparison {
    /// The adapter that they ran on.
    pub adapter: Option<String>,
    /// By operator.
    pub operators: BTreeMap<String, Tally>,
    /// In the order of the manifest.
    pub cases: Vec<CaseComparison>,
}

impl Tally {
    fn add(&mut self, verdict: &Verdict) {
        match verdict {
            Verdict::Passed => self.passed += 1,
            Verdict::Differs(_) => self.differing += 1,
            Verdict::NotRun(_) => self.not_run += 1,
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { passed, differing, not_run } = self;
        write!(f, "{passed} passed, {differing} differing, {not_run} not run")
    }
}

/// Compares the results in the folder of an export.
///
/// # Errors
/// The manifest, the record or a file of expected bytes cannot be read or is wrong.
pub fn compare(folder: &Path) -> anyhow::Result<Comparison> {
    let (manifest, record) = (Manifest::read(folder)?, Record::read(folder)?);
    let recorded: HashMap<&str, _> = record.results.iter().map(|it| (&*it.id, it)).collect();
    let mut comparison =
        Comparison { adapter: record.adapter.clone(), operators: BTreeMap::new(), cases: vec![] };
    for case in manifest.cases {
        let id = case.id.to_string();
        let verdict = verdict(folder, &case, recorded.get(&*id).copied());
        let verdict = verdict.with_context(|| id.clone())?;
        comparison.operators.entry(case.operator.clone()).or_default().add(&verdict);
        comparison.cases.push(CaseComparison { id, operator: case.operator, verdict });
    }
    Ok(comparison)
}

impl Comparison {
    /// How many there are over all operators.
    pub fn total(&self) -> Tally {
        let mut total = Tally::default();
        self.cases.iter().for_each(|case| total.add(&case.verdict));
        total
    }

    /// The exit code that says so.
    pub(crate) fn exit_code(&self) -> u8 {
        match self.total() {
            Tally { differing: 1.., .. } => exit::FAILED,
            Tally { passed: 1.., not_run: 0, .. } => 0,
            _ => exit::INCOMPLETE,
        }
    }
}

fn verdict(
    folder: &Path,
    case: &ExportedCase,
    recorded: Option<&RecordedResult>,
) -> anyhow::Result<Verdict> {
    let Some(recorded) = recorded else {
        return Ok(Verdict::NotRun("no result is recorded".to_owned()));
    };
    if recorded.exit_code != Some(0) {
        return Ok(Verdict::NotRun(ending(recorded)));
    }
    for output in &case.outputs {
        let verdict = compare_output(folder, output).with_context(|| output.resource.clone())?;
        match verdict {
            Verdict::Passed => {}
            // DxDispatch may report that it cannot write a file, and end with 0.
            Verdict::NotRun(problem) => {
                let said = said(recorded).map(|it| format!("; {it}")).unwrap_or_default();
                return Ok(Verdict::NotRun(format!("{}: {problem}{said}", output.resource)));
            }
            Verdict::Differs(problem) => {
                return Ok(Verdict::Differs(format!("{}: {problem}", output.resource)));
            }
        }
    }
    Ok(Verdict::Passed)
}

/// How DxDispatch ended, where it did not end well.
fn ending(recorded: &RecordedResult) -> String {
    let end = match recorded.exit_code {
        Some(code) => format!("DxDispatch ended with {code}"),
        None => "DxDispatch took too long".to_owned(),
    };
    said(recorded).map_or(end.clone(), |said| format!("{end}: {said}"))
}

/// The last line that it printed about errors, or at all.
fn said(recorded: &RecordedResult) -> Option<&str> {
    let lines = [&recorded.stderr, &recorded.stdout].into_iter();
    lines.filter_map(|text| text.lines().map(str::trim).rfind(|line| !line.is_empty())).next()
}

/// Compares the file of an output, where there is one.
fn compare_output(folder: &Path, output: &ExportedOutput) -> anyhow::Result<Verdict> {
    let expected = expectation(folder, output)?;
    let found = match std::fs::read(inside(folder, &output.result)?) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Ok(Verdict::NotRun(format!("there is no file {}", output.result)));
        }
        Err(error) => return Err(error).with_context(|| output.result.clone()),
    };
    let offset = usize::try_from(output.offset)?;
    let size = expected.tensor.before.len();
    let tensor = offset.checked_add(size).and_then(|end| found.get(offset..end));
    Ok(match tensor {
        None => {
            let (found, needed) = (found.len(), output.offset + size as u64);
            Verdict::NotRun(format!("{} has {found} bytes; {needed} are needed", output.result))
        }
        // Without a place it is about bytes that no element covers.
        Some(tensor) => match expected.check(tensor) {
            Err(difference) if difference.place.is_some() => Verdict::Differs(difference.problem),
            _ => Verdict::Passed,
        },
    })
}

/// The expected bytes of the output, without guards, which DxDispatch's buffers do not have.
fn expectation(folder: &Path, output: &ExportedOutput) -> anyhow::Result<Output> {
    let layout = output.layout()?;
    let size = layout.total_size().next_multiple_of(4);
    let elements = |name: &str| expected_elements(folder, name, &layout, size);
    let (expected, flushed) = (elements(&output.expected)?, output.also_accepted.as_deref());
    let flushed = flushed.map(elements).transpose()?;
    let tensor = Tensor { before: vec![SENTINEL; usize::try_from(size)?], offset: 0, size };
    let comparison = output.comparison();
    Ok(Output { tensor, layout, elements: expected, flushed, errors: None, comparison })
}

fn expected_elements(
    folder: &Path,
    name: &str,
    layout: &TensorLayout,
    size: u64,
) -> anyhow::Result<Vec<u64>> {
    let bytes = std::fs::read(inside(folder, name)?).with_context(|| name.to_owned())?;
    let found = bytes.len() as u64;
    ensure!(found == size, "{name}: has {found} bytes; accepted: {size}, as {layout:?} needs");
    Ok(elements_in(layout, &bytes))
}

/// The findings, as a table and lists.
impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let adapter = self.adapter.as_deref().unwrap_or("an unnamed adapter");
        writeln!(f, "DirectML on {adapter}: {}", self.total())?;
        for (operator, tally) in &self.operators {
            writeln!(f, "  {operator}: {tally}")?;
        }
        let of = |verdict: &Verdict| match verdict {
            Verdict::Passed => None,
            Verdict::Differs(detail) => Some(("differs", detail.clone())),
            Verdict::NotRun(detail) => Some(("not run", detail.clone())),
        };
        let all: Vec<_> =
            self.cases.iter().filter_map(|case| Some((&case.id, of(&case.verdict)?))).collect();
        for kind in ["differs", "not run"] {
            let mut cases = all.iter().filter(|(_, (found, _))| *found == kind);
            for (id, (_, detail)) in cases.by_ref().take(SHOWN) {
                writeln!(f, "{kind}: {id}: {detail}")?;
            }
            match cases.count() {
                0 => {}
                more => writeln!(f, "{kind}: {more} more, which --json FILE has")?,
            }
        }
        Ok(())
    }
}

/// Cases of each kind that are shown.
const SHOWN: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison(verdicts: &[Verdict]) -> Comparison {
        let case = |verdict: &Verdict| CaseComparison {
            id: "a".to_owned(),
            operator: "A".to_owned(),
            verdict: verdict.clone(),
        };
        let cases = verdicts.iter().map(case).collect();
        Comparison { adapter: None, operators: BTreeMap::new(), cases }
    }

    #[test]
    fn only_what_all_passed_ends_with_0() {
        let differs = Verdict::Differs(String::new());
        let not_run = Verdict::NotRun(String::new());
        let code = |verdicts: &[Verdict]| comparison(verdicts).exit_code();
        assert_eq!(code(&[Verdict::Passed, Verdict::Passed]), 0);
        assert_eq!(code(&[]), exit::INCOMPLETE);
        assert_eq!(code(&[Verdict::Passed, not_run.clone()]), exit::INCOMPLETE);
        assert_eq!(code(&[Verdict::Passed, not_run, differs]), exit::FAILED);
    }

    #[test]
    fn what_is_not_shown_is_counted() {
        let text = comparison(&vec![Verdict::Differs("element [0]".to_owned()); 25]).to_string();
        assert_eq!(text.matches("differs: a: element [0]\n").count(), 20);
        assert!(text.ends_with("differs: 5 more, which --json FILE has\n"), "{text}");
    }
}
