//! `cargo xtask fuzz`: runs every fuzz target for a while, from its seeds and the inputs of earlier runs.
//!
//! cargo-fuzz builds and runs them on the stable toolchain, without a sanitizer: the fuzzed code is safe
//! Rust, and promises are asserted.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};
use dml_file::{eprintln, println};
use xshell::{Cmd, Shell, cmd};

use crate::environment::Environment;
use crate::{build_tools, process, tools, workspace};

/// Run the fuzz targets
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Seconds that each target runs
    #[arg(long, default_value_t = 600, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) time: u32,
    /// Only this target; may be repeated
    #[arg(long = "target", value_name = "TARGET")]
    pub(crate) targets: Vec<String>,
    /// Targets that run at the same time
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) jobs: u16,
    /// Run one target on this file alone, such as a finding
    #[arg(long, value_name = "FILE", requires = "targets")]
    pub(crate) input: Option<PathBuf>,
}

/// An input that takes longer, or more memory in MiB, is a finding. The time is generous wall-clock time, so
/// that a busy machine causes no findings.
const LIMITS: [&str; 2] = ["-timeout=25", "-rss_limit_mb=2048"];

/// Runs the command and returns the exit code: 1 if there is a finding.
pub(crate) fn run(sh: &Shell, args: &Args) -> Result<i32> {
    let targets = chosen(&all_targets(sh)?, &args.targets)?;
    let fuzzer = Fuzzer::build(sh)?;
    if let Some(input) = &args.input {
        ensure!(targets.len() == 1, "--input takes one --target");
        let input = std::path::absolute(input)?;
        return process::exit_code(
            fuzzer.command(sh, &targets[0]).arg(input).arg("--").args(LIMITS),
        );
    }
    let mut reports = Vec::new();
    for together in targets.chunks(usize::from(args.jobs)) {
        let running: Vec<_> =
            together.iter().map(|target| (target, fuzzer.start(sh, target, args.time))).collect();
        for (target, run) in running {
            let report = run.and_then(Run::report);
            eprintln!("{}", line(target, &report));
            reports.push((target, report));
        }
    }
    reports.sort_by_key(|(target, _)| *target);
    println!();
    reports.iter().for_each(|(target, report)| println!("{}", line(target, report)));
    let is_clean = reports.iter().all(|(_, report)| report.as_ref().is_ok_and(Report::is_clean));
    Ok(i32::from(!is_clean))
}

/// The step `fuzz-lock` of `ci`: checks that the lock file of the fuzz programs, which are outside of the
/// workspace, has every dependency. cargo-fuzz itself has no --locked.
pub(crate) fn check_lock(sh: &Shell) -> Result<()> {
    let manifest = workspace::root().join("fuzz/Cargo.toml");
    let metadata =
        cmd!(sh, "cargo metadata --locked --format-version 1 --manifest-path {manifest}");
    let what =
        "fuzz/Cargo.lock is not up to date: `cargo metadata --manifest-path fuzz/Cargo.toml`";
    metadata.quiet().ignore_stdout().run().context(what)
}

/// The names of the programs in `fuzz/fuzz_targets`.
fn all_targets(sh: &Shell) -> Result<Vec<String>> {
    let programs = sh.read_dir(workspace::root().join("fuzz/fuzz_targets"))?;
    let stem = |path: &PathBuf| Some(path.file_stem()?.to_str()?.to_owned());
    Ok(programs.iter().filter_map(stem).collect())
}

fn chosen(all: &[String], wanted: &[String]) -> Result<Vec<String>> {
    for name in wanted {
        ensure!(all.contains(name), "there is no fuzz target {name}; there are {}", all.join(", "));
    }
    Ok(if wanted.is_empty() { all.to_vec() } else { wanted.to_vec() })
}

/// The built fuzz programs, and their working folder.
struct Fuzzer {
    program: PathBuf,
    environment: Environment,
    folder: PathBuf,
}

impl Fuzzer {
    fn build(sh: &Shell) -> Result<Self> {
        let program = tools::cargo_fuzz(sh)?;
        let environment = build_tools::compiler(sh).context("preparing the build of libFuzzer")?;
        let folder = workspace::root().join("target/fuzz");
        let fuzzer = Self { program, environment, folder };
        check_lock(sh)?;
        process::succeed(fuzzer.cargo_fuzz(sh, "build"))?;
        Ok(fuzzer)
    }

    fn cargo_fuzz<'a>(&self, sh: &'a Shell, command: &str) -> Cmd<'a> {
        let (program, build) = (&self.program, self.folder.join("build"));
        let fuzz = workspace::root().join("fuzz");
        let command =
            cmd!(sh, "{program} {command} --fuzz-dir {fuzz} --target-dir {build} --sanitizer none");
        self.environment.apply(command)
    }

    fn command<'a>(&self, sh: &'a Shell, target: &str) -> Cmd<'a> {
        self.cargo_fuzz(sh, "run").arg(target)
    }

    /// Starts one target. Its output goes to a file beside its corpus.
    fn start(&self, sh: &Shell, target: &str, seconds: u32) -> Result<Run> {
        let folder = self.folder.join(target);
        let (corpus, findings) = (folder.join("corpus"), folder.join("findings"));
        sh.remove_path(&findings)?;
        sh.create_dir(&corpus)?;
        sh.create_dir(&findings)?;
        let log = folder.join("log");
        let seeds = workspace::root().join("fuzz/seeds").join(target);
        let command = self
            .command(sh, target)
            .args([&corpus, &seeds])
            .arg("--")
            .args(LIMITS)
            .arg(format!("-max_total_time={seconds}"))
            .arg(format!("-artifact_prefix={}/", findings.display()));
        eprintln!("{target}: {seconds} s, see {}", log.display());
        let process = Command::from(command)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(&log)?)
            .spawn()
            .context("it could not be started")?;
        Ok(Run { process, log, findings })
    }
}

/// A running target.
struct Run {
    process: Child,
    log: PathBuf,
    /// The folder of the inputs that are findings.
    findings: PathBuf,
}

impl Run {
    /// Waits for its end.
    fn report(mut self) -> Result<Report> {
        let status = self.process.wait()?;
        let text = String::from_utf8_lossy(&std::fs::read(&self.log)?).into_owned();
        let findings = Shell::new()?.read_dir(&self.findings)?;
        ensure!(
            status.success() || !findings.is_empty(),
            "it ended with {status} and left no input; see {}",
            self.log.display()
        );
        Ok(Report { counts: counts(&text), findings })
    }
}

/// The result of one target.
struct Report {
    /// Counts such as `9 runs in 600 s, coverage 1, 3 inputs`; `None` if libFuzzer did not reach its end, as after a
    /// finding. Coverage is a number of code locations.
    counts: Option<String>,
    findings: Vec<PathBuf>,
}

impl Report {
    fn is_clean(&self) -> bool {
        self.counts.is_some() && self.findings.is_empty()
    }
}

/// Reads the lines `#9 .. cov: 1 ft: 2 corp: 3/4b ..` and `Done 9 runs in 600 second(s)`.
fn counts(log: &str) -> Option<String> {
    let last = |key: &str| log.lines().rev().find(|line| line.contains(key));
    let (done, state) = (last("Done ")?, last(" cov: ")?);
    let number = |line: &str, key: &str| -> Option<u64> {
        let rest = line.split(key).nth(1)?.trim_start();
        rest.split(|it: char| !it.is_ascii_digit()).next()?.parse().ok()
    };
    let (runs, seconds) = (number(done, "Done ")?, number(done, "runs in ")?);
    let (coverage, inputs) = (number(state, " cov: ")?, number(state, " corp: ")?);
    Some(format!("{runs} runs in {seconds} s, coverage {coverage}, {inputs} inputs"))
}

fn line(target: &str, report: &Result<Report>) -> String {
    let Report { counts, findings } = match report {
        Ok(report) => report,
        Err(error) => return format!("{target}: {error:#}"),
    };
    let counts = counts.as_ref().map(|count| format!("{count}, ")).unwrap_or_default();
    let mut text = format!("{target}: {counts}{} findings", findings.len());
    for finding in findings {
        let input = finding.strip_prefix(workspace::root()).unwrap_or(finding).display();
        text += &format!("\n  again: cargo xtask fuzz --target {target} --input {input}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "INFO: seed corpus: files: 2\n\
        #2\tINITED cov: 20 ft: 30 corp: 2/9b exec/s: 0 rss: 30Mb\n\
        #900\tNEW    cov: 2811 ft: 7384 corp: 642/132Kb lim: 17 exec/s: 111 rss: 32Mb L: 3/11 MS: 1\n";

    #[test]
    fn counts_are_those_of_the_last_lines() {
        let log = format!("{LOG}Done 14949205 runs in 601 second(s)\n");
        let expected = "14949205 runs in 601 s, coverage 2811, 642 inputs";
        assert_eq!(counts(&log).as_deref(), Some(expected));
        assert_eq!(counts(LOG), None, "it did not come to its end");
    }

    #[test]
    fn a_finding_and_an_early_end_are_not_clean() {
        let report = |log: &str, findings: &[&str]| Report {
            counts: counts(log),
            findings: findings.iter().map(PathBuf::from).collect(),
        };
        let whole = format!("{LOG}Done 5 runs in 6 second(s)\n");
        assert!(report(&whole, &[]).is_clean());
        assert!(!report(LOG, &[]).is_clean());
        let found = report(LOG, &["crash-1"]);
        assert!(!found.is_clean());
        let text = line("npy", &Ok(found));
        assert!(text.contains("cargo xtask fuzz --target npy --input crash-1"), "{text}");
    }

    #[test]
    fn an_unknown_target_is_refused_with_those_that_there_are() {
        let all = ["npy".to_owned(), "onnx".to_owned()];
        assert_eq!(chosen(&all, &[]).unwrap(), all);
        assert_eq!(chosen(&all, &all[1..]).unwrap(), all[1..]);
        let error = chosen(&all, &["onx".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("no fuzz target onx; there are npy, onnx"), "{error}");
    }
}
