//! `cargo xtask ci`: everything that must hold before a change is merged. `cargo xtask nightly`: the
//! same, and what takes hours.
//!
//! Each step is a process of its own, so that one that hangs can be ended. No step is left out for
//! want of a tool, a device or a layer: what cannot be had fails its step.

mod inputs;
mod process;
mod steps;

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use xshell::Shell;

use inputs::Record;
use process::{Outcome, run_step};
use steps::{CI, NIGHTLY, Step};

/// Run all checks that a change must pass
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run only this step, whatever it depends on; may be repeated
    #[arg(long, value_name = "STEP")]
    only: Vec<String>,
    /// Record what the steps that pass depend on in xtask/passed.toml, if they run only when it
    /// changes
    #[arg(long)]
    record: bool,
    /// Print the steps with their time budgets and end
    #[arg(long)]
    list: bool,
}

/// Run one step in this process
#[derive(clap::Args)]
pub(crate) struct StepArgs {
    name: String,
}

/// Runs the steps and returns the exit code. The last line printed is `N passed, M failed`.
pub(crate) fn run(sh: &Shell, args: &Args) -> Result<i32> {
    run_these(sh, args, CI.iter().collect(), false)
}

/// The same with the steps that take hours, and with all inputs.
pub(crate) fn nightly(sh: &Shell, args: &Args) -> Result<i32> {
    run_these(sh, args, CI.iter().chain(NIGHTLY).collect(), true)
}

/// Does what one step does.
pub(crate) fn step(sh: &Shell, args: &StepArgs) -> Result<i32> {
    let step = CI.iter().chain(NIGHTLY).find(|it| it.name == args.name);
    (step.with_context(|| format!("there is no step {}", args.name))?.run)(sh).map(|()| 0)
}

fn run_these(sh: &Shell, args: &Args, steps: Vec<&Step>, always: bool) -> Result<i32> {
    if args.list {
        steps.iter().for_each(|it| println!("{:18}at most {}", it.name, minutes(it.budget)));
        return Ok(0);
    }
    for name in &args.only {
        let names: Vec<&str> = steps.iter().map(|it| it.name).collect();
        let is_known = names.contains(&name.as_str());
        ensure!(is_known, "there is no step {name}; there are {}", names.join(", "));
    }
    let is_asked_for = |step: &Step| args.only.iter().any(|name| name == step.name);
    let chosen = steps.into_iter().filter(|it| args.only.is_empty() || is_asked_for(it));
    let outcomes = run_all(chosen, |step| {
        if !always && !is_asked_for(step) && Record::is_as_recorded(sh, step) {
            return Outcome::Skipped;
        }
        let outcome = run_step(process::this_program(step), step.budget);
        if args.record
            && matches!(outcome, Outcome::Passed(_))
            && let Err(error) = Record::write(sh, step)
        {
            eprintln!("{} is not recorded: {error:#}", step.name);
        }
        outcome
    });
    print!("{}", summary(&outcomes));
    Ok(i32::from(outcomes.iter().any(|(_, outcome)| outcome.is_failure())))
}

/// Whatever comes of a step, the next one runs.
fn run_all<'a>(
    steps: impl Iterator<Item = &'a Step>,
    run: impl Fn(&Step) -> Outcome,
) -> Vec<(&'static str, Outcome)> {
    let one = |step: &'a Step| {
        println!("\n=== {} ===", step.name);
        let outcome = run(step);
        println!("=== {}: {}", step.name, describe(&outcome));
        (step.name, outcome)
    };
    steps.map(one).collect()
}

fn minutes(duration: Duration) -> String {
    format!("{:.0} min", (duration.as_secs_f64() / 60.0).ceil())
}

fn describe(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Passed(time) => format!("passed in {:.1} s", time.as_secs_f64()),
        Outcome::Failed { time, why } => {
            format!("FAILED after {:.1} s: {why}", time.as_secs_f64())
        }
        Outcome::Skipped => {
            "skipped: what it depends on is as it was when it last passed (xtask/passed.toml)"
                .into()
        }
    }
}

fn summary(outcomes: &[(&str, Outcome)]) -> String {
    let mut text = String::from("\n");
    for (name, outcome) in outcomes {
        text += &format!("{name:18}{}\n", describe(outcome));
    }
    let failed = outcomes.iter().filter(|(_, it)| it.is_failure()).count();
    let skipped = outcomes.iter().filter(|(_, it)| matches!(it, Outcome::Skipped)).count();
    let passed = outcomes.len() - failed - skipped;
    text += &format!("\n{passed} passed, {failed} failed");
    if skipped > 0 {
        text += &format!(", {skipped} skipped");
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_counted_and_named_and_the_last_line_is_the_count() {
        let time = Duration::from_secs(1);
        let text = summary(&[
            ("one", Outcome::Passed(time)),
            ("two", Outcome::Failed { time, why: "exit code 7".into() }),
            ("three", Outcome::Skipped),
            ("four", Outcome::Failed { time, why: "over its budget".into() }),
        ]);
        assert!(text.contains("two               FAILED after 1.0 s: exit code 7\n"), "{text}");
        assert!(text.contains("four              FAILED"), "{text}");
        assert_eq!(text.lines().last(), Some("1 passed, 2 failed, 1 skipped"));
        let text = summary(&[("one", Outcome::Passed(time))]);
        assert_eq!(text.lines().last(), Some("1 passed, 0 failed"));
    }

    #[test]
    fn the_steps_after_a_failed_one_run() {
        let time = Duration::ZERO;
        let outcomes = run_all(CI.iter().take(3), |step| match step.name {
            "fmt" => Outcome::Passed(time),
            _ => Outcome::Failed { time, why: "deliberate".into() },
        });
        let text = summary(&outcomes);
        assert_eq!(text.matches("FAILED").count(), 2, "{text}");
        assert_eq!(text.lines().last(), Some("1 passed, 2 failed"));
    }

    #[test]
    fn names_are_unique_and_every_step_can_be_started() {
        let names: Vec<&str> = CI.iter().chain(NIGHTLY).map(|it| it.name).collect();
        for (index, name) in names.iter().enumerate() {
            assert!(!names[..index].contains(name), "{name}");
        }
        let error = step(&Shell::new().unwrap(), &StepArgs { name: "nothing".into() });
        assert_eq!(error.unwrap_err().to_string(), "there is no step nothing");
    }

    #[test]
    fn an_unknown_step_is_refused_with_the_known_ones() {
        let args = Args { only: vec!["tset".into()], record: false, list: false };
        let error = run(&Shell::new().unwrap(), &args).unwrap_err().to_string();
        assert!(error.starts_with("there is no step tset; there are test, fmt, "), "{error}");
    }
}
