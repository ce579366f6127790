//! `dml-conformance onnx`.

use std::path::PathBuf;
use std::process::ExitCode;

use super::measuring::Measuring;
use super::models;
use crate::onnx::suite;
use crate::protocol::ModelTests;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Where the tests are: folders with a model.onnx, and with inputs and outputs below
    folder: PathBuf,
    #[command(flatten)]
    models: models::ModelArgs,
    /// A file of the DirectML operators that each test needs: where all are implemented, the test must run.
    /// With --record, the reasons of tests that run are removed there
    #[arg(long, value_name = "FILE")]
    requirements: Option<PathBuf>,
    /// Report by model, of whose floats `|found - expected| <= 1e-4 + 1e-3 * |expected|`; of 1,000 one may
    /// differ by 0.02
    #[arg(long)]
    whole_models: bool,
    #[command(flatten)]
    measuring: Measuring,
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let find = |filter: Option<&_>| suite::find(&args.folder, filter);
    let kind = if args.whole_models { ModelTests::Models } else { ModelTests::Onnx };
    let measuring = args.measuring.is_wanted().then_some(&args.measuring);
    models::run(&args.models, kind, find, args.requirements.as_deref(), measuring)
}
