//! `dml-conformance run`.

use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use dml_file::{InputFiles, Output, eprintln};

use super::create;
use super::options::{PlaceArgs, PoolArgs, parse_devices};
use super::progress::Progress;
use crate::agreement;
use crate::cases::Listing;
use crate::execute::Details;
use crate::exit::{self, Usage};
use crate::expectations::Expectations;
use crate::outcomes::Outcomes;
use crate::pool::Pool;
use crate::report::{Format, ReportOptions};
use crate::results::{CaseResult, FORMAT, ResultCode, Run};
use crate::runner::{run_in_process, run_isolated};
use crate::selection::{Sample, Selection};
use crate::target::{Devices, Target};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    selection: Selection,
    /// A device by index, name or UUID; all; or interpreter, which needs no Vulkan
    #[arg(
        long,
        value_name = "D|all|interpreter",
        default_value = "all",
        value_parser = parse_devices
    )]
    device: Devices,
    /// Run only this part of the cases on devices whose name contains DEVICE, such as SwiftShader=1/4: the same cases
    /// each time, and all refusals. May be repeated
    #[arg(long, value_name = "DEVICE=I/N")]
    sample: Vec<Sample>,
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    how: PoolArgs,
    /// A file of cases that are known to fail, in addition to the built-in list
    #[arg(long, value_name = "FILE")]
    expectations: Vec<PathBuf>,
    /// Accept that a limit of the device refuses legal cases; the run is not incomplete then
    #[arg(long)]
    allow_unsupported: bool,
    #[command(flatten)]
    form: ReportOptions,
    /// Write the report to this file; the table is printed as well
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let (selection, cases) = (&args.selection, args.selection.cases()?);
    let expectations = expectations(&args.expectations)?;
    // Before the run: hours of results are not lost to a mistyped path.
    let mut reads = InputFiles::new();
    args.expectations.iter().for_each(|path| reads.add(path));
    let create = |path: &PathBuf| create("--output", path, &reads);
    let output = args.output.as_ref().map(create).transpose()?;
    let pool = args.how.pool()?;
    let targets = args.how.targets(&args.place, args.device.clone(), &pool)?;
    let names = if targets.len() == 1 { "device or profile" } else { "devices and profiles" };
    eprintln!("{} cases, {} {names}", cases.len(), targets.len());
    let mut run = Run {
        format: FORMAT,
        conformance_version: env!("CARGO_PKG_VERSION").to_owned(),
        selection: selection.describe(),
        agreement: None,
        targets: Vec::new(),
    };
    let outcomes = targets.into_iter().map(|target| run_sample(target, &cases, args, &pool));
    let mut outcomes = outcomes.collect::<anyhow::Result<Vec<Outcomes>>>()?;
    run.agreement = agreement::compare(&mut outcomes);
    for mut outcomes in outcomes {
        expectations.apply(&mut outcomes);
        let mut target = outcomes.into_run();
        if selection.is_full() {
            target.required = target.operators().into_keys().collect();
        }
        run.targets.push(target);
    }
    if selection.is_full() && args.sample.is_empty() {
        for unmatched in expectations.unmatched(&run.targets, &cases) {
            eprintln!("warning: {unmatched}");
        }
    }
    write(&run, args.form, output)?;
    let code = exit::of(run.total(), args.allow_unsupported);
    if code == exit::INCOMPLETE {
        eprintln!("incomplete: {}", why_incomplete(&run));
    }
    Ok(ExitCode::from(code))
}

/// Runs the target's sample of `cases`, or all of them.
fn run_sample(
    target: Target,
    cases: &Listing,
    args: &Args,
    pool: &Pool,
) -> anyhow::Result<Outcomes> {
    let sample = args.sample.iter().find(|it| it.is_for(&target.run.device.name));
    let Some(Sample { part, .. }) = sample else { return run_target(&target, cases, args, pool) };
    run_target(&target.with_sample(*part), &part.sample(cases), args, pool)
}

fn run_target(
    target: &Target,
    cases: &Listing,
    args: &Args,
    pool: &Pool,
) -> anyhow::Result<Outcomes> {
    let count = cases.iter().filter(|case| target.can_run(case.kind)).count();
    let mut progress = Progress::new(target.title(), count);
    let mut tell = |case: &CaseResult| progress.case(case.result.is_failure());
    let result = if args.how.no_isolation {
        run_in_process(target, cases, None, Details::Failures, &mut tell)
    } else {
        run_isolated(target, cases, pool, Details::Failures, &mut tell)
    }?;
    let is_not_run = |(_, code): &(_, ResultCode)| *code == ResultCode::NotRun;
    let not_run = result.results().filter(is_not_run).count();
    progress.done(result.target().seconds, cases.len(), not_run);
    Ok(result)
}

fn why_incomplete(run: &Run) -> String {
    let total = run.total();
    let unsupported = total.of(ResultCode::Unsupported);
    let mut text = format!("{} cases passed", total.of(ResultCode::Pass));
    if unsupported > 0 {
        let accepted = "(--allow-unsupported accepts that)";
        text += &format!(", {unsupported} refused by a limit of the device {accepted}");
    }
    for target in run.targets.iter().filter(|target| target.total().missing() > 0) {
        let names = target.required_and_not_executed().join(", ");
        text += &format!("; {}: no case was executed of {names}", target.title());
    }
    text
}

fn expectations(files: &[PathBuf]) -> anyhow::Result<Expectations> {
    let mut all = Expectations::built_in()?;
    for file in files {
        all.add_file(file).map_err(|error| Usage(format!("--expectations: {error:#}")))?;
    }
    Ok(all)
}

fn write(run: &Run, form: ReportOptions, output: Option<Output>) -> anyhow::Result<()> {
    let Some(mut file) = output else { return print(run, form) };
    let written = form.write(run, &mut file).and_then(|()| file.commit());
    // The terminal first: a full disk must not hide what was found.
    print(run, ReportOptions { format: Format::Table, ..form })?;
    written.context("cannot write --output")
}

fn print(run: &Run, form: ReportOptions) -> anyhow::Result<()> {
    let mut output = BufWriter::new(dml_file::stdout());
    form.write(run, &mut output)?;
    Ok(output.flush()?)
}
