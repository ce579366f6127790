//! What runs of whole models take: `dml-conformance onnx --measure`.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use dml_file::Output;

use crate::onnx::measure::{Figures, Peer, measure};
use crate::onnx::report::{Run, write_page};
use crate::target::Target;

#[derive(Debug, clap::Args)]
pub(super) struct Measuring {
    /// Tell what a run takes of each model that passed: the median of runs after a first one, one model after
    /// another
    #[arg(long, requires = "whole_models", conflicts_with = "icd")]
    measure: bool,
    /// What another library takes: JSON with its `name`, and `seconds` by the models' names
    #[arg(long, value_name = "FILE", requires = "measure")]
    beside: Option<PathBuf>,
    /// Write the page of this machine to this file too
    #[arg(long, value_name = "FILE", requires = "measure")]
    markdown: Option<PathBuf>,
}

/// Where the figures go.
pub(super) struct Started {
    peer: Option<Peer>,
    page: Option<(PathBuf, Output)>,
}

impl Measuring {
    pub(super) fn is_wanted(&self) -> bool {
        self.measure
    }

    /// Reads and opens files, before a run that a mistyped path would lose.
    pub(super) fn start(&self) -> anyhow::Result<Started> {
        let create = |path: &PathBuf| {
            let output = Output::create(path).with_context(|| path.display().to_string())?;
            anyhow::Ok((path.clone(), output))
        };
        Ok(Started {
            peer: self.beside.as_deref().map(peer).transpose()?,
            page: self.markdown.as_ref().map(create).transpose()?,
        })
    }
}

fn peer(path: &Path) -> anyhow::Result<Peer> {
    let text = std::fs::read(path).with_context(|| path.display().to_string())?;
    serde_json::from_slice(&text).with_context(|| path.display().to_string())
}

impl Started {
    /// Measures, and writes the page.
    pub(super) fn finish(self, run: &Run, places: &[Target]) -> anyhow::Result<Figures> {
        let targets = places.iter().zip(&run.targets);
        let targets = targets.map(|(target, results)| measure(target, &run.tests, results));
        let figures = Figures { targets: targets.collect::<anyhow::Result<_>>()?, peer: self.peer };
        if let Some((path, mut output)) = self.page {
            let page = write_page(run, &figures, &path, &mut output);
            let written = page.and_then(|()| output.flush()).and_then(|()| output.commit());
            written.with_context(|| path.display().to_string())?;
        }
        Ok(figures)
    }
}
