//! Chooses cases and writes their scripts, inputs and expected bytes.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;

use anyhow::{Context as _, anyhow};
use dml::core::{Numerics, validate};

use super::LeftOut;
use super::manifest::{ExportedCase, ExportedOutput, MANIFEST, Manifest};
use super::script::Script;
use crate::cases::{Case, Expectation, Finder, Kind, Listed, Listing};
use crate::execute;
use crate::pattern::Pattern;

/// Runs the scripts with DxDispatch on Windows.
const RUN: &str = include_str!("run.ps1");

/// Which cases are exported, of those that have outputs.
#[derive(Debug)]
pub struct Choice<'a> {
    /// Every case is exported of operators with these names, in lower case.
    pub whole: &'a Pattern,
    /// The number of cases that are exported of each other operator.
    pub sample: NonZeroUsize,
}

/// Writes cases into a folder, which is empty or not there yet.
///
/// # Errors
/// A file cannot be written, or a reference is wrong.
pub fn export(folder: &Path, listing: &Listing, choice: &Choice<'_>) -> anyhow::Result<Manifest> {
    let mut export =
        Export { folder, finder: Finder::default(), cases: vec![], left_out: BTreeMap::new() };
    for (operator, candidates) in export.candidates(listing) {
        if choice.whole.is_match(operator) {
            for listed in candidates {
                export.one(listed)?;
            }
        } else {
            export.sample(&candidates, choice.sample)?;
        }
    }
    let left_out = export.left_out.iter().map(|(reason, count)| (reason.to_string(), *count));
    let manifest = Manifest::new(export.cases, left_out.collect());
    write(&folder.join("run.ps1"), RUN.as_bytes())?;
    // The last one: a folder that has it is complete.
    write(&folder.join(MANIFEST), &serde_json::to_vec_pretty(&manifest)?)?;
    Ok(manifest)
}

struct Export<'a> {
    folder: &'a Path,
    finder: Finder,
    cases: Vec<ExportedCase>,
    left_out: BTreeMap<LeftOut, u64>,
}

impl Export<'_> {
    /// The cases of each operator that can be exported, each once, at the lowest level that accepts it.
    fn candidates<'a>(&mut self, listing: &'a Listing) -> BTreeMap<&'a str, Vec<&'a Listed>> {
        let mut seen = HashSet::new();
        let mut candidates = BTreeMap::<&str, Vec<&Listed>>::new();
        for listed in listing.iter() {
            let id = &listed.id;
            let reason = match listed.kind {
                Kind::Refusal => LeftOut::Refusal,
                Kind::Binding => LeftOut::Binding,
                Kind::Outputs if seen.insert((&id.operator, &id.signature, &id.name)) => {
                    candidates.entry(&id.operator).or_default().push(listed);
                    continue;
                }
                Kind::Outputs => LeftOut::OtherLevel,
            };
            self.leave_out(reason, 1);
        }
        candidates
    }

    fn leave_out(&mut self, reason: LeftOut, count: u64) {
        *self.left_out.entry(reason).or_default() += count;
    }

    /// Exports at most so many cases, from all parts of the list: of each part the first that can be.
    fn sample(&mut self, candidates: &[&Listed], count: NonZeroUsize) -> anyhow::Result<()> {
        for part in candidates.chunks(candidates.len().div_ceil(count.get()).max(1)) {
            let mut rest = part.iter();
            for listed in rest.by_ref() {
                if self.one(listed)? {
                    break;
                }
            }
            let rest = rest.len() as u64;
            if rest > 0 {
                self.leave_out(LeftOut::Sample, rest);
            }
        }
        Ok(())
    }

    /// Exports a case; `false` where that cannot be.
    fn one(&mut self, listed: &Listed) -> anyhow::Result<bool> {
        let case = listed.case(&mut self.finder);
        let case = case.with_context(|| format!("{}: is not a case", listed.id))?.into_owned();
        let written = write_case(self.folder, &case).with_context(|| case.id.to_string())?;
        match written {
            Ok(exported) => self.cases.push(exported),
            Err(reason) => {
                self.leave_out(reason, 1);
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Writes a case's files, or says why that cannot be.
fn write_case(folder: &Path, case: &Case) -> anyhow::Result<Result<ExportedCase, LeftOut>> {
    let Expectation::Outputs(corner) = &case.expectation else { return Ok(Err(LeftOut::Refusal)) };
    let operator = validate(&case.operator, case.level)?;
    let memory =
        execute::memory(&operator, corner, Numerics::Exact).map_err(|problem| anyhow!(problem))?;
    let script = match Script::of(&operator, corner, &memory) {
        Ok(script) => script,
        Err(reason) => return Ok(Err(reason)),
    };
    let own = format!("cases/{}", case.id);
    let at = |name: &str| folder.join(&own).join(name);
    fs::create_dir_all(at("expected"))?;
    write(&at("script.json"), &serde_json::to_vec_pretty(&script.json)?)?;
    for (name, bytes) in &script.inputs {
        write(&at(name), bytes)?;
    }
    let mut outputs = Vec::with_capacity(script.outputs.len());
    for (name, output) in &script.outputs {
        let exported = ExportedOutput::new(&own, name, output);
        write(&folder.join(&exported.expected), &output.holding(&output.elements))?;
        if let (Some(path), Some(elements)) = (&exported.also_accepted, &output.flushed) {
            write(&folder.join(path), &output.holding(elements))?;
        }
        outputs.push(exported);
    }
    let (id, operator) = (case.id.clone(), operator.schema().name.to_owned());
    Ok(Ok(ExportedCase { id, operator, script: format!("{own}/script.json"), outputs }))
}

fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}
