//! The command line of `dml-conformance`.

#![allow(clippy::print_stderr, reason = "a command talks to its user")]

use std::fmt;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Parser, Subcommand};
use dml::{
    Device, DeviceSelector, FeatureLevel, Instance, InstanceDesc, PhysicalDevice, Validation,
};
use dml_file::Output;
use globset::{Glob, GlobMatcher};
use indicatif::{ProgressBar, ProgressStyle};

use crate::cases::{Case, generate};
use crate::execute::run;
use crate::report::{DeviceReport, Report};

/// Something was not as expected.
const FAILED: u8 = 1;
/// The command was not understood.
const WRONG_USAGE: u8 = 2;
/// There is no device to run on.
const NO_DEVICE: u8 = 3;

/// Checks that Vulkan devices deliver what each DirectML feature level promises.
///
/// Exit code: 0 all as expected, 1 something failed, 2 wrong usage, 3 no device.
#[derive(Debug, Parser)]
#[command(name = "dml-conformance", version)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Prints the ids of the cases; needs no device
    List(Selection),
    /// Runs the cases and prints a table for each device
    Run(RunArgs),
}

#[derive(Debug, clap::Args)]
struct Selection {
    /// A feature level such as 5_1, or all
    #[arg(long, value_name = "L|all", default_value = "all", value_parser = parse_levels)]
    feature_level: Levels,
    /// Only cases whose id matches, such as '*/int64/*'
    #[arg(long, value_name = "GLOB", value_parser = parse_glob)]
    filter: Option<GlobMatcher>,
}

#[derive(Debug, clap::Args)]
struct RunArgs {
    #[command(flatten)]
    selection: Selection,
    /// A device by index, name or UUID, or all
    #[arg(long, value_name = "D|all", default_value = "all", value_parser = parse_devices)]
    device: Devices,
    /// Also write every result to this file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Run under the Vulkan validation layer; any message fails the case that caused it
    #[arg(long)]
    validation: bool,
}

#[derive(Clone, Debug)]
struct Levels(Vec<FeatureLevel>);

#[derive(Clone, Debug)]
enum Devices {
    All,
    One(DeviceSelector),
}

fn parse_levels(text: &str) -> Result<Levels, String> {
    if text == "all" {
        return Ok(Levels(FeatureLevel::ALL.to_vec()));
    }
    text.parse().map(|level| Levels(vec![level])).map_err(|error| format!("{error}, all"))
}

fn parse_glob(text: &str) -> Result<GlobMatcher, String> {
    Glob::new(text).map(|glob| glob.compile_matcher()).map_err(|error| error.to_string())
}

fn parse_devices(text: &str) -> Result<Devices, String> {
    if text == "all" {
        return Ok(Devices::All);
    }
    text.parse().map(Devices::One).map_err(|error: dml::vk::Error| error.to_string())
}

impl Selection {
    fn cases(&self) -> Vec<Case> {
        let cases = self.feature_level.0.iter().flat_map(|level| generate(*level));
        let matches = |case: &Case| {
            self.filter.as_ref().is_none_or(|glob| glob.is_match(case.id.to_string()))
        };
        cases.filter(matches).collect()
    }
}

impl Cli {
    /// Does what the command line says, talking to the user.
    pub fn run(self) -> ExitCode {
        let selection = match &self.command {
            Command::List(selection) => selection,
            Command::Run(args) => &args.selection,
        };
        let cases = selection.cases();
        if cases.is_empty() {
            eprintln!("error: --filter matches no case; `dml-conformance list` prints the ids");
            return ExitCode::from(WRONG_USAGE);
        }
        let result = match &self.command {
            Command::List(_) => list(&cases),
            Command::Run(args) => run_all(&cases, args),
        };
        result.unwrap_or_else(|error| match closed_pipe(&error) {
            // Whoever reads the output has seen enough.
            true => ExitCode::SUCCESS,
            false => {
                eprintln!("error: {error:#}");
                ExitCode::from(exit_code(&error))
            }
        })
    }
}

fn list(cases: &[Case]) -> anyhow::Result<ExitCode> {
    let mut output = BufWriter::new(io::stdout().lock());
    for case in cases {
        writeln!(output, "{}", case.id)?;
    }
    output.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn closed_pipe(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<io::Error>();
    error.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

fn open_json(path: &Path) -> anyhow::Result<Output> {
    Output::create(path)
        .map_err(|error| Usage(format!("--json: {}: {error}", path.display())).into())
}

/// The command line asks for something that cannot be done.
#[derive(Debug)]
struct Usage(String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

fn exit_code(error: &anyhow::Error) -> u8 {
    if error.is::<Usage>() {
        return WRONG_USAGE;
    }
    match error.downcast_ref::<dml::vk::Error>() {
        Some(dml::vk::Error::NoLoader { .. } | dml::vk::Error::NoDevice { .. }) => NO_DEVICE,
        Some(dml::vk::Error::InvalidArgument { .. }) => WRONG_USAGE,
        _ => FAILED,
    }
}

fn run_all(cases: &[Case], args: &RunArgs) -> anyhow::Result<ExitCode> {
    let validation = if args.validation { Validation::Required } else { Validation::Off };
    let instance = Instance::new(&InstanceDesc { validation, ..InstanceDesc::default() })?;
    // Before the run: hours of results are not lost to a mistyped path.
    let json = args.json.as_deref().map(open_json).transpose()?;
    let mut report = Report::default();
    for physical_device in select(&instance, &args.device)? {
        let device_report = run_on(cases, &instance, &physical_device)?;
        writeln!(io::stdout(), "{device_report}")?;
        report.devices.push(device_report);
    }
    if let Some(mut file) = json {
        report.write_json(&mut file).and_then(|()| file.commit()).context("cannot write --json")?;
    }
    Ok(if report.failed() { ExitCode::from(FAILED) } else { ExitCode::SUCCESS })
}

/// Every device that can be used, or the one asked for.
fn select(instance: &Instance, devices: &Devices) -> anyhow::Result<Vec<PhysicalDevice>> {
    if let Devices::One(selector) = devices {
        return Ok(vec![instance.select(selector)?]);
    }
    let all = instance.physical_devices()?;
    let usable: Vec<_> = all.into_iter().filter(|device| device.unsuitable().is_none()).collect();
    if usable.is_empty() {
        // Explains what was found and what to install.
        instance.select(&DeviceSelector::Best)?;
    }
    Ok(usable)
}

/// Runs `cases` on one device. Progress goes to standard error, if that is a terminal.
///
/// # Errors
/// The device cannot be opened.
pub fn run_on(
    cases: &[Case],
    instance: &Instance,
    physical_device: &PhysicalDevice,
) -> anyhow::Result<DeviceReport> {
    let device = Device::on(physical_device, FeatureLevel::HIGHEST)
        .with_context(|| format!("cannot open {}", physical_device.info().name))?;
    let mut report = DeviceReport::new(physical_device);
    let progress = ProgressBar::new(cases.len() as u64);
    if let Ok(style) = ProgressStyle::with_template("{msg} [{bar:40}] {pos}/{len} ({eta} left)") {
        progress.set_style(style);
    }
    progress.set_message(physical_device.info().name.clone());
    for case in cases {
        report.add(case, run(case, &device, instance));
        progress.inc(1);
    }
    progress.finish_and_clear();
    Ok(report)
}
