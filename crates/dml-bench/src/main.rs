//! `cargo xtask bench`: operators against the device's own fill and copy, in turns, in one run.

#![forbid(unsafe_code)]

mod band;
mod case;
mod cases;
mod chain;
mod cold_start;
mod host;
mod lane;
mod limits;
mod machine;
mod markdown;
mod meaning;
mod measure;
mod operation;
mod peers;
mod plot;
mod report;
mod stats;
mod table;
mod text;
mod turns;
mod work;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use clap::Parser;
use dml::core::Strategy;
use dml::{
    Device, DeviceOptions, DeviceSelector, Instance, InstanceDesc, Numerics, PhysicalDevice,
};
use dml_bench::exit_code;
use dml_file::{eprintln, print, println};
use globset::{Glob, GlobMatcher};
use indicatif::{ProgressBar, ProgressStyle};

use crate::case::Case;
use crate::machine::Machine;
use crate::measure::Effort;
use crate::peers::Peers;
use crate::report::{DeviceReport, Report};

/// Measures operators on Vulkan devices, side by side with what the devices do on their own.
///
/// Exit code: 0 measured (targets met or not), 1 a result was wrong or a device failed, 2 wrong usage.
#[derive(Debug, Parser)]
#[command(name = "dml-bench", version)]
struct Cli {
    /// A device by index, name or UUID, or `all`
    #[arg(long, value_name = "D", default_value = "all")]
    device: String,
    /// Only cases whose name matches, such as `packed/*`; `limits`, `recording`, `compiling` and
    /// `cold_start` are names too
    #[arg(long, value_name = "GLOB", default_value = "*")]
    filter: Glob,
    /// Less time for each case, two of the four element widths, and at most 64 MiB
    #[arg(long)]
    quick: bool,
    /// Measure everything this many times as long
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    repeat: u32,
    /// Use this strategy wherever it can serve, whatever would be chosen
    #[arg(long, value_name = "S")]
    strategy: Option<Strategy>,
    /// Whether sums of products are the same bits on every device (exact), or may be faster (fast)
    #[arg(long, value_name = "exact|fast", default_value_t)]
    numerics: Numerics,
    /// Also measure the libraries that are installed in this folder: `cargo xtask bench --peers`
    #[arg(long, value_name = "FOLDER")]
    peers: Option<PathBuf>,
    /// Write everything that was measured as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write a page of Markdown, and beside it a plot of time against size for each device
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Write the plot of time against size; of several devices, one file each, with a number
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Print the names of the cases and end
    #[arg(long)]
    list: bool,
}

fn main() -> ExitCode {
    env_logger::init();
    let mut arguments = std::env::args().skip(1);
    if let (Some(cold_start::CHILD), Some(selector)) =
        (arguments.next().as_deref(), arguments.next())
    {
        return cold_start::child(&selector);
    }
    exit_code(run(&Cli::parse()))
}

fn run(cli: &Cli) -> Result<()> {
    let filter = cli.filter.compile_matcher();
    let groups = chosen(cli, &filter);
    if cli.list {
        groups.iter().flatten().for_each(|case| println!("{}", case.id));
        return Ok(());
    }
    let machine = Machine::here();
    let mut peers = cli.peers.as_deref().map(Peers::start).unwrap_or_default();
    let devices = devices(&cli.device)?;
    let mut report = Report {
        arguments: std::env::args().skip(1).collect(),
        peers: peers.status(),
        machine,
        devices: Vec::new(),
    };
    print!("{}", table::header(&report));
    for physical in devices {
        let device = run_on(cli, &filter, &groups, &physical, &report.machine, &mut peers)?;
        print!("{}", table::device(&device));
        report.devices.push(device);
    }
    write(cli, &report)?;
    let failures: usize = report.devices.iter().map(DeviceReport::failures).sum();
    ensure!(failures == 0, "{failures} cases failed: the tables say FAILED and why");
    Ok(())
}

/// The chosen cases of each group.
fn chosen(cli: &Cli, filter: &GlobMatcher) -> Vec<Vec<Case>> {
    let is_chosen = |case: &Case| filter.is_match(&case.id) && (!cli.quick || case.is_quick());
    let mut groups = cases::all();
    groups.iter_mut().for_each(|group| group.retain(is_chosen));
    groups.retain(|group| !group.is_empty());
    groups
}

fn devices(selector: &str) -> Result<Vec<PhysicalDevice>> {
    let instance = Instance::new(&InstanceDesc::default())?;
    if selector != "all" {
        let selector: DeviceSelector = selector.parse()?;
        return Ok(vec![instance.select(&selector)?]);
    }
    let all = instance.physical_devices()?;
    let usable: Vec<_> = all.into_iter().filter(|it| it.unsuitable().is_none()).collect();
    ensure!(
        !usable.is_empty(),
        "there is no usable Vulkan device; `cargo xtask bench` sets two up"
    );
    Ok(usable)
}

fn run_on(
    cli: &Cli,
    filter: &GlobMatcher,
    groups: &[Vec<Case>],
    physical: &PhysicalDevice,
    machine: &Machine,
    peers: &mut Peers,
) -> Result<DeviceReport> {
    let options = DeviceOptions { numerics: cli.numerics, ..DeviceOptions::default() };
    let device = Device::on_with(physical, &options)?;
    let device = match cli.strategy {
        Some(strategy) => device.with_tuning(device.tuning().with_strategy(strategy)),
        None => device,
    };
    let info = physical.info();
    let effort = effort(cli, machine);
    let progress = progress(&info.name, groups.iter().map(Vec::len).sum());
    let mut results = Vec::new();
    for group in groups {
        progress.set_message(format!("{}: {}", info.name, group[0].id));
        results.extend(measure::measure(&device, group, effort, peers)?);
        progress.inc(group.len() as u64);
    }
    progress.finish_and_clear();
    let limits = if filter.is_match("limits") { limits::measure(&device, effort)? } else { vec![] };
    let rounds = if cli.quick { 21 } else { 101 };
    let mut host = vec![];
    if filter.is_match("recording") {
        host.extend(host::recording(&device, rounds)?);
    }
    if filter.is_match("compiling") {
        host.extend(host::compiling(&device, rounds.div_ceil(5))?);
    }
    let starts = if cli.quick { 5 } else { 15 };
    let cold_start =
        if filter.is_match("cold_start") { cold_start::measure(info, starts)? } else { vec![] };
    Ok(DeviceReport {
        name: info.name.clone(),
        numerics: cli.numerics.name(),
        driver: format!("{} {}", info.driver_name, info.driver_info).trim().to_owned(),
        cases: results,
        limits,
        host,
        cold_start,
    })
}

fn effort(cli: &Cli, machine: &Machine) -> Effort {
    // Where the system does not tell, as large as any.
    let cache = machine.cache.unwrap_or(256 << 20);
    let (milliseconds, least) = if cli.quick { (250, 5) } else { (2000, 11) };
    Effort {
        time: Duration::from_millis(milliseconds) * cli.repeat,
        least: least * cli.repeat as usize,
        cache,
    }
}

fn progress(name: &str, cases: usize) -> ProgressBar {
    let progress = ProgressBar::new(cases as u64);
    if let Ok(style) = ProgressStyle::with_template("[{bar:30}] {pos}/{len} ({eta} left) {msg}") {
        progress.set_style(style);
    }
    progress.set_message(name.to_owned());
    progress
}

fn write(cli: &Cli, report: &Report) -> Result<()> {
    if let Some(path) = &cli.json {
        write_file(path, &(serde_json::to_string_pretty(report)? + "\n"))?;
    }
    let plots: Vec<_> = report.devices.iter().map(plot::svg).collect::<Result<_>>()?;
    if let Some(path) = &cli.svg {
        let several = report.devices.len() > 1;
        for (index, plot) in plots.iter().enumerate() {
            let path = if several { numbered(path, index) } else { path.clone() };
            match plot {
                Some(plot) => write_file(&path, plot)?,
                None => eprintln!("{} is not written: too few sizes were measured", path.display()),
            }
        }
    }
    if let Some(path) = &cli.markdown {
        let mut paths = Vec::new();
        for (index, plot) in plots.iter().enumerate() {
            let path = numbered(&path.with_extension("svg"), index);
            plot.as_ref().map(|plot| write_file(&path, plot)).transpose()?;
            paths.push(plot.is_some().then_some(path));
        }
        write_file(path, &markdown::page(report, &paths))?;
    }
    Ok(())
}

/// `a.svg` as `a-0.svg`.
fn numbered(path: &Path, index: usize) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{stem}-{index}.{extension}"))
}

fn write_file(path: &Path, text: &str) -> Result<()> {
    dml_file::write(path, |output| output.write_all(text.as_bytes()))
        .with_context(|| format!("writing {}", path.display()))
}
