//! `dml-conformance onnx`.

use std::path::PathBuf;
use std::process::ExitCode;

use super::models;
use crate::onnx::suite;
use crate::protocol::ModelTests;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Where the tests are: folders with a model.onnx, and with inputs and outputs below
    folder: PathBuf,
    #[command(flatten)]
    models: models::ModelArgs,
    /// The operators of DirectML that tests take: where all are implemented, the test has to run. With
    /// --record, tests that run lose their excuses there
    #[arg(long, value_name = "FILE")]
    requirements: Option<PathBuf>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let find = |filter: Option<&_>| suite::find(&args.folder, filter);
    models::run(&args.models, ModelTests::Onnx, find, args.requirements.as_deref())
}
