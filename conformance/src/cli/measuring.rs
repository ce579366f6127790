//! Measures the latency of whole models: `dml-conformance onnx --measure`.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use dml_file::{InputFiles, Output, eprintln};
use serde::de::DeserializeOwned;

use super::create;
use crate::onnx::libraries::Library;
use crate::onnx::measure::{Figures, Peer, measure};
use crate::onnx::report::{Run, write_page};
use crate::target::Target;

#[derive(Debug, clap::Args)]
pub(super) struct Measuring {
    /// Measure the latency of each model that passed: the median of the runs after a first one
    #[arg(long, requires = "whole_models", conflicts_with = "icd")]
    measure: bool,
    /// Latencies of another library: JSON with its `name`, and `seconds` by the models' names
    #[arg(long, value_name = "FILE", requires = "measure")]
    beside: Option<PathBuf>,
    /// Other libraries to measure on the same devices: a JSON list of `name` and `command`. The folder of a model
    /// and the name of a device are added to the command, which prints {"seconds": ..}, {"wrong": ..} or
    /// {"reason": ..}
    #[arg(long, value_name = "FILE", requires = "measure")]
    peers: Option<PathBuf>,
    /// Write the page of this machine to this file too
    #[arg(long, value_name = "FILE", requires = "measure")]
    markdown: Option<PathBuf>,
    /// The command that the page says it was made with, without --markdown
    #[arg(long, value_name = "TEXT", default_value = "cargo xtask models")]
    made_by: String,
}

/// The open files for the figures.
pub(super) struct Started {
    peer: Option<Peer>,
    libraries: Vec<Library>,
    page: Option<(PathBuf, Output)>,
    made_by: String,
}

impl Measuring {
    pub(super) fn is_wanted(&self) -> bool {
        self.measure
    }

    /// Reads and opens files before the run, so that a mistyped path does not lose it. Files in `reads`, and
    /// files that are read for measuring, are not written.
    pub(super) fn start(&self, reads: &InputFiles) -> anyhow::Result<Started> {
        let mut reads = reads.clone();
        self.beside.iter().chain(&self.peers).for_each(|path| reads.add(path));
        let create =
            |path: &PathBuf| anyhow::Ok((path.clone(), create("--markdown", path, &reads)?));
        Ok(Started {
            peer: self.beside.as_deref().map(read::<Peer>).transpose()?,
            libraries: self.peers.as_deref().map(read).transpose()?.unwrap_or_default(),
            made_by: self.made_by.clone(),
            page: self.markdown.as_ref().map(create).transpose()?,
        })
    }
}

fn read<T: DeserializeOwned>(path: &Path) -> anyhow::Result<T> {
    let text = std::fs::read(path).with_context(|| path.display().to_string())?;
    serde_json::from_slice(&text).with_context(|| path.display().to_string())
}

impl Started {
    /// Measures, and writes the page.
    pub(super) fn finish(self, run: &Run, places: &[Target]) -> anyhow::Result<Figures> {
        let targets = places.iter().zip(&run.targets);
        let targets = targets.map(|(target, results)| {
            measure(target, &run.tests, results, &self.libraries, |it| eprintln!("{it}"))
        });
        let targets = targets.collect::<anyhow::Result<_>>()?;
        let figures = Figures { targets, peer: self.peer, libraries: self.libraries };
        if let Some((path, mut output)) = self.page {
            let page = write_page(run, &figures, &self.made_by, &path, &mut output);
            let written = page.and_then(|()| output.flush()).and_then(|()| output.commit());
            written.with_context(|| path.display().to_string())?;
        }
        Ok(figures)
    }
}
