//! The command line of `dml-conformance`.

mod convert;
mod export;
mod import;
mod measuring;
mod models;
mod onnx;
mod options;
mod progress;
mod run;
mod show;
mod webnn;

use std::collections::BTreeSet;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use dml::FeatureLevel;
use dml_file::{InputFiles, Output, eprintln};

use crate::cases::{self, Filter};
use crate::exit::{self, Usage};
use crate::report::{self, diff::Diff};
use crate::selection::Selection;
use crate::worker;

/// Checks on Vulkan devices what DirectML's documentation states for each feature level.
///
/// Exit code: 0 all as expected, 1 something failed, 2 wrong usage, 3 no device, 4 incomplete: a limit of
/// the device refused cases, or none could run.
#[derive(Debug, Parser)]
#[command(name = "dml-conformance", version)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Prints the ids of the cases; needs no device
    List(Selection),
    /// Runs the cases and reports for each device
    Run(run::Args),
    /// Runs one case and prints its descriptor, its plan, and expected and actual elements side by side
    Show(show::Args),
    /// Compares the reports of two runs; exit code 1 if the second is worse
    Diff(DiffArgs),
    /// Writes the report of an earlier run as a table, HTML, JUnit or JSON
    Convert(convert::Args),
    /// Writes cases as scripts of Microsoft's DxDispatch, which runs DirectML on Windows; needs no device
    Export(export::Args),
    /// Compares what DxDispatch made of an export with what must be there; exit code 1 if something differs
    Import(import::Args),
    /// Runs tests of ONNX models through the importer, and reports by operator
    Onnx(onnx::Args),
    /// Runs WebNN's tests through the importer, and reports by operation
    Webnn(webnn::Args),
    /// Prints the names that fixed cases have: the file that filters are checked with
    #[command(hide = true)]
    Names,
    /// Runs the cases that standard input names, for `run`
    #[command(hide = true)]
    Worker,
}

#[derive(Debug, clap::Args)]
struct DiffArgs {
    /// The report of the earlier run, as JSON
    #[arg(value_name = "A.json")]
    before: PathBuf,
    /// The report of the later run, as JSON
    #[arg(value_name = "B.json")]
    after: PathBuf,
}

impl Cli {
    /// Does what the command line says, talking to the user.
    pub fn run(self) -> ExitCode {
        let result = match &self.command {
            Command::List(selection) => list(selection),
            Command::Run(args) => run::run(args),
            Command::Show(args) => show::run(args),
            Command::Diff(args) => diff(args),
            Command::Convert(args) => convert::run(args),
            Command::Export(args) => export::run(args),
            Command::Import(args) => import::run(args),
            Command::Onnx(args) => onnx::run(args),
            Command::Webnn(args) => webnn::run(args),
            Command::Names => names(),
            Command::Worker => worker::work().map(|()| ExitCode::SUCCESS),
        };
        result.unwrap_or_else(|error| {
            eprintln!("error: {error:#}");
            ExitCode::from(exit::code(&error))
        })
    }
}

/// Creates the file of the option `name`, unless it is one that the command reads.
fn create(name: &str, path: &Path, reads: &InputFiles) -> Result<Output, Usage> {
    reads.check(path).map_err(|error| Usage(format!("{name}: {error}")))?;
    Output::create(path).map_err(|error| Usage(format!("{name}: {}: {error}", path.display())))
}

fn list(selection: &Selection) -> anyhow::Result<ExitCode> {
    let mut output = BufWriter::new(dml_file::stdout());
    selection.try_for_each(|case| Ok(writeln!(output, "{}", case.id)?))?;
    output.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn names() -> anyhow::Result<ExitCode> {
    let everything = Filter::default();
    let cases = FeatureLevel::ALL.into_iter().flat_map(|level| cases::all(level, &everything));
    let names: BTreeSet<String> = cases.map(|case| case.id.name).collect();
    write!(dml_file::stdout(), "{}", cases::names_file(names.iter().map(String::as_str)))?;
    Ok(ExitCode::SUCCESS)
}

fn diff(args: &DiffArgs) -> anyhow::Result<ExitCode> {
    let read = |path| report::read(path).map_err(|error| Usage(format!("{error:#}")));
    let (before, after) = (read(&args.before)?, read(&args.after)?);
    let diff = Diff::between(&before, &after);
    write!(dml_file::stdout(), "{diff}")?;
    Ok(if diff.is_worse() { ExitCode::from(exit::FAILED) } else { ExitCode::SUCCESS })
}
