//! Writes the tables of budgets: `cargo xtask budgets`.
#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use dml_bench::budgets::{TableFile, measured, of_folder, works};
use dml_bench::exit_code;
use dml_file::println;

/// Counts what plans ask of a GPU, without one, and writes the checked-in table.
#[derive(Debug, Parser)]
#[command(name = "dml-budgets", version)]
struct Cli {
    /// The models that `cargo xtask models` has laid out in this folder, in place of the works of one operator
    #[arg(long, value_name = "FOLDER")]
    models: Option<PathBuf>,
    /// Write nothing; fail where the table says something else
    #[arg(long)]
    check: bool,
}

fn main() -> ExitCode {
    exit_code(run(&Cli::parse()))
}

fn run(cli: &Cli) -> Result<()> {
    let (file, works) = match &cli.models {
        None => (TableFile::WORKS, works()?),
        Some(folder) => (TableFile::MODELS, of_folder(folder)?),
    };
    let now = measured(&works)?;
    if cli.check {
        file.check(&now)?;
    } else {
        // A table that cannot be read is written anew.
        let before = file.read().unwrap_or_default();
        before.changes(&now).iter().for_each(|change| println!("{change}"));
        file.write(&now)?;
    }
    println!("{}: {} rows", file.path().display(), now.rows.len());
    Ok(())
}
