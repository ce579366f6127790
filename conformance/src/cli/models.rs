//! Parts that `dml-conformance onnx` and `dml-conformance webnn` share.

use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context as _;
use dml_file::{InputFiles, Output, eprintln};

use super::create;
use super::measuring::Measuring;
use super::options::{PlaceArgs, PoolArgs, parse_devices};
use super::progress::Progress;
use crate::exit::{self, Usage};
use crate::onnx::passing::Passing;
use crate::onnx::report::{Run, write_json, write_models, write_table};
use crate::onnx::requirements::Requirements;
use crate::onnx::runner::{run_in_process, run_isolated};
use crate::onnx::suite::Test;
use crate::pattern::Pattern;
use crate::pool::Pool;
use crate::protocol::ModelTests;
use crate::results::onnx::{Ended, Outcome, TargetResults};
use crate::target::{Devices, Target};
use crate::webnn;
use crate::worker::run_test;

#[derive(Debug, clap::Args)]
pub(super) struct ModelArgs {
    /// Only tests whose name matches, such as '*add*'
    #[arg(long, value_name = "GLOB")]
    filter: Option<Pattern>,
    /// A Vulkan device by index, name or UUID; or all
    #[arg(long, value_name = "D|all", default_value = "all", value_parser = parse_vulkan_devices)]
    device: Devices,
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    how: PoolArgs,
    /// A file of tests that must pass, one name per line; a test that passes and is not listed is an error too
    #[arg(long, value_name = "FILE")]
    passing: Option<PathBuf>,
    /// Add the tests that pass on every device to that file
    #[arg(long, requires = "passing")]
    record: bool,
    /// Also write all results to this file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// The interpreter cannot run the importer's programs.
fn parse_vulkan_devices(text: &str) -> Result<Devices, String> {
    match parse_devices(text)? {
        Devices::Interpreter => Err("models need a Vulkan device".to_owned()),
        devices => Ok(devices),
    }
}

/// Finds tests and runs them. With a list of requirements, only tests whose operators are all implemented
/// run. Tests that passed are measured if requested.
pub(super) fn run(
    args: &ModelArgs,
    kind: ModelTests,
    find: impl FnOnce(Option<&Pattern>) -> anyhow::Result<Vec<Test>>,
    requirements_file: Option<&Path>,
    measuring: Option<&Measuring>,
) -> anyhow::Result<ExitCode> {
    let usage = |error: anyhow::Error| Usage(format!("{error:#}"));
    let tests = find(args.filter.as_ref()).map_err(usage)?;
    if tests.is_empty() {
        return Err(Usage("no test matches --filter".to_owned()).into());
    }
    let passing = args.passing.as_deref().map(Passing::read).transpose().map_err(usage)?;
    let requirements = requirements_file.map(Requirements::read).transpose().map_err(usage)?;
    // Before the run, so that a mistyped path does not lose it.
    let mut reads = InputFiles::new();
    let lists = args.passing.as_deref().into_iter().chain(requirements_file);
    lists.for_each(|path| reads.add(path));
    test_files(&tests).iter().for_each(|path| reads.add(path));
    let json = args.json.as_deref();
    let json: Option<(&Path, Output)> =
        json.map(|path| Ok::<_, Usage>((path, create("--json", path, &reads)?))).transpose()?;
    let pool = args.how.pool()?;
    let places = args.how.targets(&args.place, args.device.clone(), &pool)?;
    let measuring =
        measuring.map(|measuring| measuring.start(&reads)).transpose().map_err(usage)?;
    let run_target = |target| run_target(target, kind, &tests, args, &pool);
    let targets = places.iter().map(run_target).collect::<anyhow::Result<Vec<_>>>()?;
    let is_whole = args.filter.is_none();
    let mut changes = passing.as_ref().map(|passing| passing.compare(&tests, &targets, is_whole));
    if let Some(requirements) = &requirements {
        requirements.compare(&tests, &targets, changes.get_or_insert_default());
    }
    if let (true, Some(changes), Some(passing)) = (args.record, &mut changes, passing) {
        let recorded = std::mem::take(&mut changes.unlisted);
        passing.record(&recorded)?;
        let excused = std::mem::take(&mut changes.excused);
        requirements.map_or(Ok(()), |it| it.record(&excused))?;
        eprintln!("{} tests recorded", recorded.len());
    }
    let run = Run { tests, targets, changes };
    let figures = measuring.map(|measuring| measuring.finish(&run, &places)).transpose()?;
    if let Some((path, mut output)) = json {
        let written = write_json(&run, &mut output).and_then(|()| output.commit());
        written.with_context(|| path.display().to_string())?;
    }
    let mut output = io::BufWriter::new(dml_file::stdout());
    match kind {
        ModelTests::Models => write_models(&run, figures.as_ref(), &mut output)?,
        ModelTests::Onnx | ModelTests::Webnn => write_table(&run, &mut output)?,
    }
    output.flush()?;
    Ok(if run.is_bad() { ExitCode::from(exit::FAILED) } else { ExitCode::SUCCESS })
}

/// The files of tests: those in the folder of each, or the one file with many tests.
fn test_files(tests: &[Test]) -> BTreeSet<PathBuf> {
    let mut files = BTreeSet::new();
    for test in tests {
        match webnn::suite::file(&test.folder) {
            Some(file) => {
                files.insert(file);
            }
            None => add_files_below(&test.folder, &mut files),
        }
    }
    files
}

/// The files in a folder, and in its folders of data.
fn add_files_below(folder: &Path, files: &mut BTreeSet<PathBuf>) {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                _ => {
                    files.insert(entry.path());
                }
            }
        }
    }
}

fn run_target(
    target: &Target,
    kind: ModelTests,
    tests: &[Test],
    args: &ModelArgs,
    pool: &Pool,
) -> anyhow::Result<TargetResults> {
    let mut progress = Progress::new(target.title(), tests.len());
    let start = Instant::now();
    let mut tell = |ended: &Ended| progress.case(ended.outcome.is_bad());
    let ended = if args.how.no_isolation {
        run_in_process(target, run_test(kind), tests, &mut tell)
    } else {
        run_isolated(target, kind, tests, pool, &mut tell)
    }?;
    let seconds = start.elapsed().as_secs_f64();
    let not_run = ended.iter().filter(|it| it.outcome == Outcome::NotRun).count();
    progress.done(seconds, tests.len(), not_run);
    Ok(TargetResults { title: target.title(), seconds, ended })
}
