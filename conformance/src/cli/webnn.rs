//! `dml-conformance webnn`.

use std::path::PathBuf;
use std::process::ExitCode;

use super::models;
use crate::protocol::ModelTests;
use crate::webnn::suite;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A file of WebNN's tests in JSON, or a folder of such files
    path: PathBuf,
    #[command(flatten)]
    models: models::ModelArgs,
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let find = |filter: Option<&_>| suite::find(&args.path, filter);
    models::run(&args.models, ModelTests::Webnn, find, None, None)
}
