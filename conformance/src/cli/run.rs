//! `dml-conformance run`.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use dml_file::Output;

use super::options::{PlaceArgs, PoolArgs, parse_devices};
use super::progress::Progress;
use crate::agreement;
use crate::cases::Case;
use crate::execute::Details;
use crate::exit::{self, Usage};
use crate::expectations::Expectations;
use crate::pool::Pool;
use crate::report::{Form, Format};
use crate::results::{FORMAT, ResultCode, Run, TargetRun};
use crate::runner::{run_in_process, run_isolated};
use crate::selection::Selection;
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
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    how: PoolArgs,
    /// Cases that are known not to pass, beside the built-in ones
    #[arg(long, value_name = "FILE")]
    expectations: Vec<PathBuf>,
    /// Do not call the run incomplete where a limit of the device refuses legal cases
    #[arg(long)]
    allow_unsupported: bool,
    #[command(flatten)]
    form: Form,
    /// Write the report to this file; the table is printed as well
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let (selection, cases) = (&args.selection, args.selection.cases()?);
    let expectations = expectations(&args.expectations)?;
    // Before the run: hours of results are not lost to a mistyped path.
    let output = args.output.as_deref().map(open).transpose()?;
    let pool = args.how.pool(Details::Failures)?;
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
    for target in &targets {
        run.targets.push(run_target(target, &cases, args, &pool)?);
    }
    run.agreement = agreement::compare(&mut run.targets);
    run.targets.iter_mut().for_each(|target| expectations.apply(target));
    if selection.is_full() {
        for unmatched in expectations.unmatched(&run.targets) {
            eprintln!("warning: {unmatched}");
        }
    }
    write(&run, args.form, output)?;
    let code = exit::of(run.total(), args.allow_unsupported);
    if code == exit::INCOMPLETE {
        let unsupported = run.total().of(ResultCode::Unsupported);
        eprintln!(
            "incomplete: {unsupported} cases refused by a limit of the device \
             (--allow-unsupported accepts that), {} passed",
            run.total().of(ResultCode::Pass)
        );
    }
    Ok(ExitCode::from(code))
}

fn run_target(
    target: &Target,
    cases: &[Case],
    args: &Args,
    pool: &Pool,
) -> anyhow::Result<TargetRun> {
    let count = cases.iter().filter(|case| target.can_run(case)).count();
    let mut progress = Progress::new(target.title(), count);
    let result = if args.how.no_isolation {
        run_in_process(target, cases, None, Details::Failures, |case| progress.case(case))
    } else {
        run_isolated(target, cases, pool, |case| progress.case(case))
    }?;
    progress.done(&result);
    Ok(result)
}

fn expectations(files: &[PathBuf]) -> anyhow::Result<Expectations> {
    let mut all = Expectations::built_in()?;
    for file in files {
        all.add_file(file).map_err(|error| Usage(format!("--expectations: {error:#}")))?;
    }
    Ok(all)
}

fn open(path: &Path) -> Result<Output, Usage> {
    Output::create(path).map_err(|error| Usage(format!("--output: {}: {error}", path.display())))
}

fn write(run: &Run, form: Form, output: Option<Output>) -> anyhow::Result<()> {
    let Some(mut file) = output else { return print(run, form) };
    let written = form.write(run, &mut file).and_then(|()| file.commit());
    // The terminal first: a full disk must not hide what was found.
    print(run, Form { format: Format::Table, ..form })?;
    written.context("cannot write --output")
}

fn print(run: &Run, form: Form) -> anyhow::Result<()> {
    let mut output = BufWriter::new(io::stdout().lock());
    form.write(run, &mut output)?;
    Ok(output.flush()?)
}
