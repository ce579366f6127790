//! Runs one step as a process with a time limit.

use std::process::{Child, Command};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::tail::Tail;

/// The outcome of a step.
#[derive(Debug)]
pub(crate) enum Outcome {
    Passed(Duration),
    /// The step failed; with the last lines that it printed, if they are kept.
    Failed {
        time: Duration,
        why: String,
        last_lines: String,
    },
    Skipped,
}

impl Outcome {
    pub(crate) fn is_failure(&self) -> bool {
        matches!(self, Self::Failed { .. })
    }
}

/// Runs `command` for at most `budget`. With `ends`, it is then ended, and its last lines are kept.
pub(crate) fn run_step(command: Command, budget: Duration, ends: bool) -> Outcome {
    let start = Instant::now();
    let (ended, last_lines) = if ends {
        watched(command, budget)
    } else {
        (wait(command, budget, false, &mut || {}), String::new())
    };
    let time = start.elapsed();
    match ended {
        Ok(None) => Outcome::Passed(time),
        Ok(Some(why)) => Outcome::Failed { time, why, last_lines },
        Err(error) => Outcome::Failed { time, why: format!("{error:#}"), last_lines },
    }
}

fn watched(mut command: Command, budget: Duration) -> (Result<Option<String>>, String) {
    match Tail::of(&mut command) {
        Ok(mut tail) => {
            let ended = wait(command, budget, true, &mut || tail.catch_up());
            (ended, tail.finish())
        }
        Err(error) => (Err(error.into()), String::new()),
    }
}

/// Waits for the process; returns the reason if it failed.
fn wait(
    mut command: Command,
    budget: Duration,
    ends: bool,
    meanwhile: &mut dyn FnMut(),
) -> Result<Option<String>> {
    let ends = ends && make_group(&mut command);
    let mut child = command.spawn()?;
    // With it, this process's end of a pipe is closed.
    drop(command);
    let deadline = Instant::now() + budget;
    let too_long = format!("it took longer than its budget, {} s", budget.as_secs());
    loop {
        if let Some(status) = child.try_wait()? {
            let in_time = Instant::now() < deadline;
            return Ok(match status.success() {
                true => (!in_time).then_some(too_long),
                false => Some(status.to_string()),
            });
        }
        if ends && Instant::now() >= deadline {
            end(&mut child)?;
            return Ok(Some(too_long));
        }
        meanwhile();
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Makes a process group, so that processes that a step starts end with it. The group does not get Ctrl-C.
#[cfg(unix)]
fn make_group(command: &mut Command) -> bool {
    use std::os::unix::process::CommandExt as _;
    command.process_group(0);
    true
}

#[cfg(not(unix))]
fn make_group(_: &mut Command) -> bool {
    false
}

/// Ends the process group of `child`; the standard library can only end single processes.
fn end(child: &mut Child) -> Result<()> {
    let group = format!("-{}", child.id());
    let status = Command::new("sh").args(["-c", "kill -9 \"$0\"", &group]).status()?;
    ensure!(status.success(), "it hangs, and cannot be ended: {status}");
    child.wait()?;
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn an_exit_code_a_signal_and_a_missing_program_are_failures() {
        let budget = Duration::from_secs(60);
        assert!(matches!(run_step(shell("exit 0"), budget, false), Outcome::Passed(_)));
        for (command, expected) in [
            (shell("exit 7"), "exit status: 7"),
            (shell("kill -ABRT $$"), "signal: 6"),
            (Command::new("no-such-program"), "No such file"),
        ] {
            let Outcome::Failed { why, .. } = run_step(command, budget, false) else {
                panic!("{expected} is a failure")
            };
            assert!(why.contains(expected), "{why}");
        }
    }

    #[test]
    fn what_hangs_is_ended_and_is_a_failure() {
        let budget = Duration::from_millis(300);
        // The shell waits for the other process, which has to end as well.
        let outcome = run_step(shell("sleep 600; true"), budget, true);
        let Outcome::Failed { time, why, .. } = outcome else { panic!("it hangs") };
        assert_eq!(why, "it took longer than its budget, 0 s");
        assert!(time < Duration::from_secs(300));
    }

    #[test]
    fn what_is_too_slow_and_is_not_ended_is_a_failure() {
        let outcome = run_step(shell("sleep 1"), Duration::from_millis(1), false);
        let Outcome::Failed { why, .. } = outcome else { panic!("it was too slow") };
        assert_eq!(why, "it took longer than its budget, 0 s");
    }

    #[test]
    fn a_group_ends_with_what_it_has_started() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pid");
        let mut command = shell(&format!("sleep 600 & echo $! > {}; wait", file.display()));
        assert!(make_group(&mut command));
        let mut child = command.spawn().unwrap();
        let started = || std::fs::read_to_string(&file).ok().filter(|it| it.ends_with('\n'));
        let pid = loop {
            match started() {
                Some(pid) => break pid,
                None => std::thread::sleep(Duration::from_millis(20)),
            }
        };
        end(&mut child).unwrap();
        // Ended at once, though whoever adopts it may take a moment to notice.
        let state = format!("/proc/{}/stat", pid.trim());
        let is_running =
            || std::fs::read_to_string(&state).is_ok_and(|stat| !stat.contains(") Z "));
        while is_running() {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
