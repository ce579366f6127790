//! `cargo xtask ci`: everything that must hold before a change is merged.
//!
//! Nothing is skipped: a tool, device or layer that cannot be had fails its step.

use std::ffi::OsString;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use xshell::{Shell, cmd};

use crate::process::succeed;
use crate::{
    c_api, conformance, fuzz, generate_header, html_report, leaks, shader_compiler, stress, test,
    tools,
};

/// Run all checks, stopping at the first that fails
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run only this step; may be repeated
    #[arg(long, value_name = "STEP", value_parser = STEPS.map(|step| step.name))]
    only: Vec<String>,
}

struct Step {
    name: &'static str,
    run: fn(&Shell) -> Result<()>,
}

/// In this order: what says most first, what takes longest last.
const STEPS: [Step; 15] = [
    Step { name: "test", run: run_tests },
    Step { name: "fmt", run: fmt },
    Step { name: "clippy", run: clippy },
    Step { name: "doc", run: doc },
    Step { name: "deny", run: deny },
    Step { name: "typos", run: typos },
    Step { name: "shader-hashes", run: shader_hashes },
    Step { name: "c-header", run: c_header },
    Step { name: "c-api", run: c_api::run },
    Step { name: "leaks", run: leaks::run },
    Step { name: "stress", run: stress::short },
    Step { name: "shader-recompile", run: shader_recompile },
    Step { name: "html-report", run: html_report::check },
    Step { name: "fuzz", run: fuzz_shortly },
    Step { name: "conformance", run: conformance },
];

/// Runs the steps and returns the exit code. The last line printed is `N passed, M failed`.
pub(crate) fn run(sh: &Shell, args: &Args) -> Result<i32> {
    let chosen = STEPS
        .iter()
        .filter(|step| args.only.is_empty() || args.only.iter().any(|name| name == step.name));
    let outcomes = run_steps(sh, chosen);
    print!("{}", summary(&outcomes));
    Ok(i32::from(outcomes.iter().any(|(_, outcome)| matches!(outcome, Outcome::Failed(_)))))
}

enum Outcome {
    Passed(Duration),
    Failed(Duration),
    NotRun,
}

fn run_steps<'a>(
    sh: &Shell,
    steps: impl Iterator<Item = &'a Step>,
) -> Vec<(&'static str, Outcome)> {
    let mut outcomes = Vec::new();
    let mut stopped = false;
    for step in steps {
        if stopped {
            outcomes.push((step.name, Outcome::NotRun));
            continue;
        }
        println!("\n=== {} ===", step.name);
        let start = Instant::now();
        let result = (step.run)(sh);
        let duration = start.elapsed();
        let outcome = match result {
            Ok(()) => Outcome::Passed(duration),
            Err(error) => {
                eprintln!("error: {error:#}");
                stopped = true;
                Outcome::Failed(duration)
            }
        };
        println!("=== {}: {}", step.name, describe(&outcome));
        outcomes.push((step.name, outcome));
    }
    outcomes
}

fn describe(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Passed(duration) => format!("passed in {:.1} s", duration.as_secs_f64()),
        Outcome::Failed(duration) => format!("FAILED after {:.1} s", duration.as_secs_f64()),
        Outcome::NotRun => "not run".to_owned(),
    }
}

fn summary(outcomes: &[(&str, Outcome)]) -> String {
    let mut text = String::from("\n");
    let (mut passed, mut failed) = (0, 0);
    for (name, outcome) in outcomes {
        text += &format!("{name:18}{}\n", describe(outcome));
        match outcome {
            Outcome::Passed(_) => passed += 1,
            Outcome::Failed(_) => failed += 1,
            Outcome::NotRun => {}
        }
    }
    text + &format!("\n{passed} passed, {failed} failed\n")
}

fn run_tests(sh: &Shell) -> Result<()> {
    let code = test::run(sh, &test::Args { args: Vec::new() })?;
    ensure!(code == 0, "the tests ended with exit code {code}");
    Ok(())
}

fn fmt(sh: &Shell) -> Result<()> {
    succeed(cmd!(sh, "cargo fmt --all -- --check"))
}

fn clippy(sh: &Shell) -> Result<()> {
    let arguments = ["--all-targets", "--features", "dml-core/json", "--", "-D", "warnings"];
    succeed(cmd!(sh, "cargo clippy --locked --workspace {arguments...}"))
}

fn doc(sh: &Shell) -> Result<()> {
    let arguments = ["--no-deps", "--document-private-items", "--features", "dml-core/json"];
    let command = cmd!(sh, "cargo doc --locked --workspace {arguments...}");
    succeed(command.env("RUSTDOCFLAGS", "-D warnings"))
}

/// Without advisories: those change with no change of ours, so they are no property of a commit.
fn deny(sh: &Shell) -> Result<()> {
    let program = tools::cargo_deny(sh)?;
    succeed(cmd!(sh, "{program} --locked --workspace --all-features check bans licenses sources"))
}

fn typos(sh: &Shell) -> Result<()> {
    let program = tools::typos(sh)?;
    succeed(cmd!(sh, "{program} --config typos.toml"))
}

/// As a developer runs it. Not through this process's own file: the steps before may have built
/// another one in its place.
fn shader_hashes(sh: &Shell) -> Result<()> {
    succeed(cmd!(sh, "cargo xtask build-shaders --check"))
}

/// As a developer runs it, for the same reason.
fn c_header(sh: &Shell) -> Result<()> {
    succeed(cmd!(sh, "cargo xtask generate-header --check"))?;
    generate_header::lint(sh)
}

fn shader_recompile(sh: &Shell) -> Result<()> {
    let arguments = ["--check", "--recompile"].map(OsString::from);
    let code = shader_compiler::build_shaders(sh, &arguments)?;
    ensure!(code == 0, "build-shaders ended with exit code {code}");
    shader_compiler::lint_and_test(sh)
}

/// A few seconds of each target: that all of them still build and run, and find nothing at once.
fn fuzz_shortly(sh: &Shell) -> Result<()> {
    let code = fuzz::run(sh, &fuzz::Args { time: 8, targets: Vec::new(), jobs: 2, input: None })?;
    ensure!(code == 0, "fuzzing has a finding");
    Ok(())
}

fn conformance(sh: &Shell) -> Result<()> {
    let args = conformance::Args { cpu_drivers: true, full: false, args: Vec::new() };
    let code = conformance::run(sh, &args)?;
    ensure!(code == 0, "the conformance run ended with exit code {code}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_failure_stops_and_is_counted() {
        fn good(_: &Shell) -> Result<()> {
            Ok(())
        }
        fn bad(_: &Shell) -> Result<()> {
            anyhow::bail!("deliberate")
        }
        let steps = [
            Step { name: "one", run: good },
            Step { name: "two", run: bad },
            Step { name: "three", run: good },
        ];
        let text = summary(&run_steps(&Shell::new().unwrap(), steps.iter()));
        assert!(text.contains("three             not run"), "{text}");
        assert_eq!(text.lines().last(), Some("1 passed, 1 failed"));
    }
}
