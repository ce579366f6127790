//! `dml-stress`: the commands of `cargo xtask stress`.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use dml_file::eprintln;
use dml_stress::{cycles, faults, plans, soak};

/// Puts the runtime through faults, random plans, cycles and mixed load.
///
/// Exit code: 0 every promise held, 1 one was broken or could not be tested, 2 wrong usage.
#[derive(Debug, Parser)]
#[command(name = "dml-stress", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Faults(faults::Args),
    Plans(plans::Args),
    Cycles(cycles::Args),
    Soak(soak::Args),
    /// A process of `faults`.
    #[command(hide = true)]
    Worker,
}

fn main() -> ExitCode {
    let command = Cli::parse().command;
    // What drivers say about faults that they were given is no news.
    let level = if matches!(command, Command::Worker) { "off" } else { "error" };
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or(level)).init();
    let held = match command {
        Command::Faults(args) => faults::run(&args),
        Command::Plans(args) => plans::run(&args),
        Command::Cycles(args) => cycles::run(&args),
        Command::Soak(args) => soak::run(&args),
        Command::Worker => faults::work().map(|()| true),
    };
    match held {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
