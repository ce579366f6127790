//! Runs named checks, each in its own process, so that one that hangs can be ended.
//!
//! A step that takes minutes and depends on few files runs only if they differ from those of its recorded pass.

mod process;
mod record;
mod tail;

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use dml_file::{print, println};
use xshell::Shell;

use process::{Outcome, run_step};
pub(crate) use record::Record;
#[cfg(test)]
pub(crate) use record::listed;

/// One check.
pub(crate) struct Check {
    /// The step's name.
    pub(crate) name: &'static str,
    /// The time limit: a step that takes longer has failed.
    pub(crate) budget: Duration,
    /// Paths of git, or `Cargo.lock#PACKAGE`: the step runs if they have changed since its recorded pass.
    /// Empty: it always runs.
    pub(crate) inputs: &'static [&'static str],
    /// The check.
    pub(crate) run: fn(&Shell) -> Result<()>,
}

/// The mode in which steps are run.
pub(crate) struct Mode {
    /// Whether they run even if their inputs are as recorded.
    pub(crate) always: bool,
    /// Whether a step is ended when it exceeds its budget, and its last lines are repeated at the end if it
    /// fails. Otherwise somebody watches, and processes that a step has started could only be ended with it
    /// by keeping Ctrl-C from them.
    pub(crate) ends: bool,
    /// The file of the recorded passes.
    pub(crate) record: &'static str,
}

/// The options of a command that runs steps.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run only this step, whatever it depends on; may be repeated
    #[arg(long, value_name = "STEP")]
    pub(crate) only: Vec<String>,
    /// Record what the steps that pass depend on in xtask/passed.toml, if they run only when it
    /// changes
    #[arg(long)]
    pub(crate) record: bool,
    /// Print the steps with their time budgets and end
    #[arg(long)]
    pub(crate) list: bool,
}

/// The step called `name`.
///
/// # Errors
/// No step has this name.
pub(crate) fn find<'a>(
    steps: impl IntoIterator<Item = &'a Check>,
    name: &str,
) -> Result<&'a Check> {
    let found = steps.into_iter().find(|step| step.name == name);
    found.with_context(|| format!("there is no step {name}"))
}

/// Runs the steps in this order and returns the exit code. The last line printed is `N passed, M failed`.
/// `command` makes the process that runs one step.
///
/// # Errors
/// The caller has asked for a step that does not exist.
pub(crate) fn run<'a>(
    sh: &Shell,
    steps: impl IntoIterator<Item = &'a Check>,
    args: &Args,
    mode: &Mode,
    command: impl Fn(&Check) -> Command,
) -> Result<i32> {
    let steps: Vec<&Check> = steps.into_iter().collect();
    if args.list {
        steps.iter().for_each(|step| println!("{:18}at most {}", step.name, minutes(step.budget)));
        return Ok(0);
    }
    for name in &args.only {
        let names: Vec<&str> = steps.iter().map(|step| step.name).collect();
        let is_known = names.contains(&name.as_str());
        ensure!(is_known, "there is no step {name}; there are {}", names.join(", "));
    }
    let is_asked_for = |step: &Check| args.only.iter().any(|name| name == step.name);
    let chosen = steps.into_iter().filter(|step| args.only.is_empty() || is_asked_for(step));
    let outcomes = run_all(chosen, |step| {
        if !mode.always && !is_asked_for(step) && Record::is_as_recorded(sh, mode.record, step) {
            return Outcome::Skipped;
        }
        let outcome = run_step(command(step), step.budget, mode.ends);
        if args.record
            && matches!(outcome, Outcome::Passed(_))
            && let Err(error) = Record::write(sh, mode.record, step)
        {
            eprintln!("{} is not recorded: {error:#}", step.name);
        }
        outcome
    });
    print!("{}", summary(&outcomes));
    Ok(i32::from(outcomes.iter().any(|(_, outcome)| outcome.is_failure())))
}

/// Runs all steps, even after a failure.
fn run_all<'a>(
    steps: impl Iterator<Item = &'a Check>,
    run: impl Fn(&Check) -> Outcome,
) -> Vec<(&'static str, Outcome)> {
    let one = |step: &'a Check| {
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
        Outcome::Failed { time, why, .. } => {
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
        if let Outcome::Failed { last_lines, .. } = outcome
            && !last_lines.is_empty()
        {
            text += &format!("=== the last lines of {name} ===\n{}\n\n", last_lines.trim_end());
        }
    }
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

    const fn step(name: &'static str) -> Check {
        Check { name, budget: Duration::from_secs(60), inputs: &[], run: |_| Ok(()) }
    }

    const STEPS: [Check; 3] = [step("one"), step("two"), step("three")];

    fn failed(why: &str, last_lines: &str) -> Outcome {
        let (why, last_lines) = (why.to_owned(), last_lines.to_owned());
        Outcome::Failed { time: Duration::from_secs(1), why, last_lines }
    }

    #[test]
    fn failures_are_counted_and_named_and_the_last_line_is_the_count() {
        let time = Duration::from_secs(1);
        let text = summary(&[
            ("one", Outcome::Passed(time)),
            ("two", failed("exit code 7", "it was wrong\n")),
            ("three", Outcome::Skipped),
            ("four", failed("over its budget", "")),
        ]);
        assert!(text.contains("two               FAILED after 1.0 s: exit code 7\n"), "{text}");
        assert!(text.contains("four              FAILED"), "{text}");
        assert!(text.contains("=== the last lines of two ===\nit was wrong\n\n"), "{text}");
        assert!(!text.contains("lines of four"), "{text}");
        assert_eq!(text.lines().last(), Some("1 passed, 2 failed, 1 skipped"));
        let text = summary(&[("one", Outcome::Passed(time))]);
        assert_eq!(text.lines().last(), Some("1 passed, 0 failed"));
    }

    #[test]
    fn the_steps_after_a_failed_one_run() {
        let time = Duration::ZERO;
        let outcomes = run_all(STEPS.iter(), |step| match step.name {
            "two" => Outcome::Passed(time),
            _ => failed("deliberate", ""),
        });
        let text = summary(&outcomes);
        assert_eq!(text.matches("FAILED").count(), 2, "{text}");
        assert_eq!(text.lines().last(), Some("1 passed, 2 failed"));
    }

    #[test]
    fn an_unknown_step_is_refused_with_the_known_ones() {
        let args = Args { only: vec!["tset".into()], record: false, list: false };
        let sh = Shell::new().unwrap();
        let mode = Mode { always: true, ends: false, record: "passed.toml" };
        let error = run(&sh, &STEPS, &args, &mode, |_| Command::new("no-such-program"))
            .unwrap_err()
            .to_string();
        assert!(error.starts_with("there is no step tset; there are one, two, "), "{error}");
    }
}
