//! The test programs of the workspace: what cargo builds, and running several of them at once.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context, Result};
use serde::Deserialize;

/// A program has a thread for each core, but its last tests often run alone: a second program fills the gap.
const AT_ONCE: usize = 2;

/// A line of `cargo test --no-run --message-format json`.
#[derive(Deserialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
enum Message {
    CompilerArtifact(Artifact),
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Artifact {
    package_id: String,
    manifest_path: PathBuf,
    target: Target,
    profile: Profile,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
    name: String,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

/// A test program, not yet started.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Program {
    /// The arguments of `cargo test` that run it alone.
    pub(super) selection: String,
    pub(super) executable: PathBuf,
    /// The folder of its package, in which it runs.
    pub(super) folder: PathBuf,
}

impl Program {
    /// The programs that cargo reports to have built, in its order.
    pub(super) fn all(messages: &str) -> Result<Vec<Self>> {
        let programs = messages.lines().map(|line| {
            let message = serde_json::from_str(line)
                .with_context(|| format!("cargo printed a line that is no message: {line}"))?;
            Ok(match message {
                Message::CompilerArtifact(artifact) => Self::of(artifact),
                Message::Other => None,
            })
        });
        programs.filter_map(Result::transpose).collect()
    }

    /// `None` for what is no test: libraries, examples and programs that tests start.
    fn of(artifact: Artifact) -> Option<Self> {
        let Artifact { package_id, manifest_path, target, profile, executable } = artifact;
        let executable = executable.filter(|_| profile.test)?;
        let package = package_name(&package_id);
        let name = &target.name;
        let selection = match target.kind.first().map(String::as_str) {
            Some(kind @ ("bin" | "test" | "example" | "bench")) => {
                format!("-p {package} --{kind} {name}")
            }
            _ => format!("-p {package} --lib"),
        };
        Some(Self { selection, executable, folder: manifest_path.parent()?.to_owned() })
    }
}

/// The name in an id as `path+file:///somewhere/crates/dml#0.2.0` or `path+file:///somewhere/spirv#dml-spirv@0.2.0`.
fn package_name(id: &str) -> &str {
    let (path, version) = id.rsplit_once('#').unwrap_or((id, ""));
    match version.split_once('@') {
        Some((name, _)) => name,
        None => path.rsplit('/').next().unwrap_or(path),
    }
}

/// A program that did not pass.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) selection: String,
    /// The lines that it printed, then how it ended.
    pub(super) output: String,
}

/// A test program with the command that starts it.
pub(super) struct Start {
    pub(super) program: Program,
    pub(super) command: Command,
}

/// The programs that have not started and those that failed, shared by all workers.
struct Queue<'a> {
    waiting: Mutex<std::vec::IntoIter<Start>>,
    failed: Mutex<Vec<Failure>>,
    /// Where each writes its output.
    outputs: &'a Path,
    stops_at_failure: bool,
}

/// Runs the programs and prints how each ended. Returns those that failed.
pub(super) fn run(
    programs: Vec<Start>,
    outputs: &Path,
    stops_at_failure: bool,
) -> Result<Vec<Failure>> {
    // Outputs of programs that have another hash now would stay for ever.
    match std::fs::remove_dir_all(outputs) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => std::fs::create_dir_all(outputs),
    }
    .with_context(|| format!("{}", outputs.display()))?;
    let (waiting, failed) = (Mutex::new(programs.into_iter()), Mutex::default());
    let queue = Queue { waiting, failed, outputs, stops_at_failure };
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| queue.work());
        }
    });
    Ok(queue.failed.into_inner().unwrap_or_else(PoisonError::into_inner))
}

impl Queue<'_> {
    fn work(&self) {
        while let Some(Start { program, command }) = self.next() {
            let failure = self.run(&program, command).unwrap_or_else(|error| {
                let output = format!("error: `{}` cannot run: {error:#}", program.selection);
                Some(Failure { selection: program.selection, output })
            });
            self.failed.lock().unwrap_or_else(PoisonError::into_inner).extend(failure);
        }
    }

    fn next(&self) -> Option<Start> {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if self.stops_at_failure && !failed.is_empty() {
            return None;
        }
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).next()
    }

    /// Runs a program to its end; `None` if it passed. A file has its output, so that nothing waits for other
    /// processes that hold the output open.
    fn run(&self, program: &Program, mut command: Command) -> Result<Option<Failure>> {
        let name = program.executable.file_stem().unwrap_or_default();
        let path = self.outputs.join(name).with_extension("txt");
        let file = File::create(&path)?;
        let start = Instant::now();
        let status = command.stdout(file.try_clone()?).stderr(file).status()?;
        let output = String::from_utf8_lossy(&std::fs::read(&path)?).into_owned();
        let end = match status.success() {
            true => output.trim_end().lines().next_back().unwrap_or("passed"),
            false => "FAILED; its output follows at the end",
        };
        let (selection, seconds) = (&program.selection, start.elapsed().as_secs_f32());
        eprintln!("{seconds:6.1} s  {selection}: {end}");
        let output = format!("{output}\nerror: `{selection}` ended with {status}");
        Ok((!status.success()).then(|| Failure { selection: selection.clone(), output }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGES: &str = r#"{"reason":"compiler-artifact","package_id":"path+file:///somewhere/crates/dml#0.2.0","manifest_path":"/somewhere/crates/dml/Cargo.toml","target":{"kind":["lib"],"name":"dml"},"profile":{"test":false},"executable":null}
{"reason":"compiler-artifact","package_id":"path+file:///somewhere/crates/dml#0.2.0","manifest_path":"/somewhere/crates/dml/Cargo.toml","target":{"kind":["lib"],"name":"dml"},"profile":{"test":true},"executable":"/somewhere/target/dml-1"}
{"reason":"compiler-artifact","package_id":"path+file:///somewhere/spirv#dml-spirv@0.2.0","manifest_path":"/somewhere/spirv/Cargo.toml","target":{"kind":["test"],"name":"linked"},"profile":{"test":true},"executable":"/somewhere/target/linked-2"}
{"reason":"compiler-artifact","package_id":"path+file:///somewhere/crates/dml#0.2.0","manifest_path":"/somewhere/crates/dml/Cargo.toml","target":{"kind":["example"],"name":"add"},"profile":{"test":false},"executable":"/somewhere/target/add-3"}
{"reason":"build-finished","success":true}"#;

    #[test]
    fn programs_that_are_tests_are_found_with_what_runs_them_alone() {
        let of = |selection: &str, executable: &str, folder: &str| Program {
            selection: selection.to_owned(),
            executable: executable.into(),
            folder: folder.into(),
        };
        let expected = [
            of("-p dml --lib", "/somewhere/target/dml-1", "/somewhere/crates/dml"),
            of("-p dml-spirv --test linked", "/somewhere/target/linked-2", "/somewhere/spirv"),
        ];
        assert_eq!(Program::all(MESSAGES).unwrap(), expected);
        assert!(Program::all("no message").unwrap_err().to_string().contains("no message"));
    }

    /// The failures of three programs that end with these exit codes.
    #[cfg(unix)]
    fn failures(codes: [i32; 3], stops_at_failure: bool) -> Vec<Failure> {
        let folder = tempfile::tempdir().unwrap();
        let programs = codes.into_iter().enumerate().map(|(number, code)| {
            let mut command = Command::new("sh");
            command.args(["-c", &format!("echo said; exit {code}")]);
            let executable = format!("program-{number}").into();
            let program =
                Program { selection: code.to_string(), executable, folder: PathBuf::new() };
            Start { program, command }
        });
        let mut failures = run(programs.collect(), folder.path(), stops_at_failure).unwrap();
        failures.sort_by(|one, other| one.selection.cmp(&other.selection));
        failures
    }

    #[cfg(unix)]
    #[test]
    fn a_program_that_fails_is_shown_and_may_stop_the_others() {
        assert!(failures([0, 0, 0], true).is_empty());
        let two = failures([1, 0, 2], false);
        let selections: Vec<&str> = two.iter().map(|it| it.selection.as_str()).collect();
        assert_eq!(selections, ["1", "2"]);
        assert!(two[0].output.starts_with("said\n"), "{}", two[0].output);
        assert!(two[0].output.ends_with("error: `1` ended with exit status: 1"), "{two:?}");
        // No more than were running.
        assert!((1..=AT_ONCE).contains(&failures([1, 2, 3], true).len()));
    }
}
