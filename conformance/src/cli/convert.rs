//! `dml-conformance convert`.

use std::io::{BufWriter, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use dml_file::InputFiles;

use super::create;
use crate::exit::Usage;
use crate::report::{self, ReportOptions};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The report of a run, as JSON
    #[arg(value_name = "RUN.json")]
    run: PathBuf,
    #[command(flatten)]
    form: ReportOptions,
    /// Write it to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Writes an earlier run in another form. What the run found does not matter for the exit code.
pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let run = report::read(&args.run).map_err(|error| Usage(format!("{error:#}")))?;
    if let Some(path) = &args.output {
        let mut reads = InputFiles::new();
        reads.add(&args.run);
        let mut file = create("--output", path, &reads)?;
        let written = args.form.write(&run, &mut file);
        written.and_then(|()| file.commit()).context("cannot write --output")?;
    } else {
        let mut output = BufWriter::new(dml_file::stdout());
        args.form.write(&run, &mut output)?;
        output.flush()?;
    }
    Ok(ExitCode::SUCCESS)
}
