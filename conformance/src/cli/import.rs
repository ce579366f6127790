//! `dml-conformance import`.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use dml_file::InputFiles;

use super::create;
use crate::dxdispatch::import::compare;
use crate::dxdispatch::manifest::{MANIFEST, RECORD};
use crate::exit::Usage;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The folder of an export in which run.ps1 has run
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Write what came of each case to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let comparison = compare(&args.folder).map_err(|error| Usage(format!("{error:#}")))?;
    if let Some(path) = &args.json {
        let mut reads = InputFiles::new();
        [MANIFEST, RECORD].iter().for_each(|name| reads.add(&args.folder.join(name)));
        let mut file = create("--json", path, &reads)?;
        serde_json::to_writer_pretty(&mut file, &comparison)?;
        file.write_all(b"\n")?;
        file.commit().context("cannot write --json")?;
    }
    write!(dml_file::stdout(), "{comparison}")?;
    Ok(ExitCode::from(comparison.exit_code()))
}
