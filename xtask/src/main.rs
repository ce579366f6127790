//! Development commands of this workspace: `cargo xtask help` lists them.
//!
//! One file per command; the other modules are what commands share. Progress goes to standard
//! error, so that `env` and `ci` own what they print.

// Every module prints so that a reader who has gone is no error.
#[macro_use(eprintln)]
extern crate dml_file;

mod bench;
mod budgets;
mod build_shaders;
mod build_tools;
mod c_api;
mod chart;
mod ci;
mod conformance;
mod count;
mod decoding;
mod devices;
mod discrete;
mod dist;
mod environment;
mod example;
mod fuzz;
mod generate_schema;
mod html_report;
mod install_capi;
mod kernels;
mod leaks;
mod models;
mod node_tests;
mod onnxruntime;
mod packages;
mod peers;
mod pip;
mod process;
mod programs;
mod random_nodes;
mod sanitizer;
mod schema;
mod setup;
mod step_runner;
mod stress;
mod test;
mod tools;
mod wheel;
mod workspace;
mod wrapping_driver;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};
use xshell::{Shell, cmd};

/// Development commands of this workspace
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Setup(setup::Args),
    /// Print the environment of the CPU drivers: eval "$(cargo xtask env)"
    Env,
    Test(test::Args),
    Conformance(conformance::Args),
    NodeTests(node_tests::Args),
    Models(models::Args),
    RandomNodes(random_nodes::Args),
    Discrete(discrete::Args),
    Kernels(kernels::Args),
    Example(example::Args),
    Bench(bench::Args),
    Chart(chart::Args),
    Budgets(budgets::Args),
    BuildShaders(build_shaders::Args),
    GenerateSchema(generate_schema::Args),
    /// Generate dmlvk.h from the functions of crates/dml-capi
    GenerateHeader,
    InstallCapi(install_capi::Args),
    Wheel(wheel::Args),
    Onnxruntime(onnxruntime::Args),
    Decoding(decoding::Args),
    Stress(stress::Args),
    Fuzz(fuzz::Args),
    Dist(dist::Args),
    Count(count::Args),
    /// Run all checks that a change must pass
    Ci(step_runner::Args),
    /// Run all checks, those that take hours included
    Nightly(step_runner::Args),
    #[command(hide = true)]
    Step(ci::StepArgs),
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        // Exit codes beyond a byte exist on Windows only; none of them means success.
        Ok(code) => ExitCode::from(u8::try_from(code).unwrap_or(1)),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<i32> {
    let sh = Shell::new()?;
    sh.change_dir(workspace::root());
    match command {
        Command::Setup(args) => setup::run(&sh, &args).map(|()| 0),
        Command::Env => setup::print_environment(&sh).map(|()| 0),
        Command::Test(args) => test::run(&sh, &args),
        Command::Conformance(args) => conformance::run(&sh, &args),
        Command::NodeTests(args) => node_tests::run(&sh, &args),
        Command::Models(args) => models::run(&sh, &args),
        Command::RandomNodes(args) => random_nodes::run(&sh, &args),
        Command::Discrete(args) => discrete::run(&sh, &args),
        Command::Kernels(args) => kernels::run(&sh, &args),
        Command::Example(args) => example::run(&sh, &args),
        Command::Bench(args) => bench::run(&sh, &args),
        Command::Chart(chart::Args {}) => chart::run(&sh).map(|()| 0),
        Command::Budgets(args) => budgets::run(&sh, args),
        Command::Wheel(wheel::Args {}) => wheel::run(&sh).map(|()| 0),
        Command::Onnxruntime(args) => onnxruntime::run(&sh, &args),
        Command::Decoding(args) => decoding::run(&sh, &args),
        Command::Stress(args) => stress::run(&sh, &args),
        Command::Fuzz(args) => fuzz::run(&sh, &args),
        Command::BuildShaders(args) => build_shaders::run(&sh, args).map(|()| 0),
        Command::GenerateSchema(args) => generate_schema::run(args).map(|()| 0),
        Command::GenerateHeader => {
            process::exit_code(cmd!(sh, "cargo run --locked --package dml-capi --example header"))
        }
        Command::InstallCapi(args) => install_capi::run(&sh, &args).map(|()| 0),
        Command::Dist(dist::Args {}) => dist::run(&sh).map(|()| 0),
        Command::Count(args) => count::run(&sh, &args).map(|()| 0),
        Command::Ci(args) => ci::run(&sh, &args),
        Command::Nightly(args) => ci::nightly(&sh, &args),
        Command::Step(args) => ci::step(&sh, &args),
    }
}
