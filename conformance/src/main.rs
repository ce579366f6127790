//! `dml-conformance`, see [`dml_conformance::cli`].

use std::process::ExitCode;

use clap::Parser;
use dml_conformance::cli::Cli;

fn main() -> ExitCode {
    env_logger::init();
    Cli::parse().run()
}
