//! `faults`: every Vulkan call of a program fails once with every result that Vulkan documents for it, and so
//! does every host allocation.
//!
//! A fault must become a typed error that names the call, or be worked around; it must never cause a panic, a
//! hang, a leaked object, or wrong bytes. Afterwards the same device must work, or a new one if it was lost.
//!
//! Calls fail under the validation layer if the environment asks for it: the layer checks that cleaning up is
//! valid Vulkan. Host allocations fail without it, because the layer's own allocations do not concern the
//! runtime. Faults are injected in worker processes, so that a crashing driver does not end the run.

mod answer;
mod case;
mod graph;
mod known;
mod on_purpose;
mod protocol;
mod request;
mod scenario;
mod sweep;
mod worker;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::ensure;
use dml_conformance::child::Launch;
use dml_conformance::parallel;
use dml_fault::EntryPoint;
use dml_file::{print, println};

use known::KnownFindings;
use protocol::{Device, Kind, Reply, Request};
use scenario::{SCENARIOS, Scenario};
pub use sweep::Sweep;
use sweep::Sweeper;
pub use worker::work;

/// Entry points that are called only for memory that is not HOST_COHERENT, which no CPU driver has.
const NOT_COHERENT: [&str; 2] = ["vkFlushMappedMemoryRanges", "vkInvalidateMappedMemoryRanges"];

/// Called only if the validation layer is required.
const VALIDATION: &str = "vkEnumerateInstanceLayerProperties";

/// The variable that requires the validation layer.
const VALIDATION_VARIABLE: &str = "DML_TEST_VALIDATION";

/// The variables that enable layers.
const LAYER_VARIABLES: [&str; 3] =
    ["VK_INSTANCE_LAYERS", "VK_LOADER_LAYERS_ENABLE", VALIDATION_VARIABLE];

/// Far longer than any fault takes, also under the validation layer.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Fail every Vulkan call once, at every place
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Args {
    /// Only devices whose name contains this
    #[arg(long, value_name = "NAME")]
    pub device: Option<String>,
    /// Only this scenario; may be repeated
    #[arg(long, value_name = "NAME")]
    pub scenario: Vec<String>,
    /// Only the first and the last call of each entry point, and about ten host allocations
    #[arg(long)]
    pub quick: bool,
    /// How long one fault may take, such as `30s`; 2m where it is not given
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub timeout: Option<Duration>,
    /// A file with more known crashes and hangs, as crates/dml-stress/known-findings.toml
    #[arg(long, value_name = "FILE")]
    pub known: Option<PathBuf>,
}

/// The sweeps of one device.
#[derive(Debug)]
pub struct Report {
    /// The device's name.
    pub device: String,
    /// The driver's name and version.
    pub driver: String,
    /// One sweep for each scenario and each kind of fault.
    pub sweeps: Vec<Sweep>,
    /// Known findings whose faults were injected and did no harm.
    pub gone: Vec<String>,
}

impl Report {
    /// Every broken promise, and every crash and hang that the runtime may have caused.
    pub fn findings(&self) -> impl Iterator<Item = &str> {
        self.sweeps.iter().flat_map(|sweep| &sweep.findings).map(String::as_str)
    }

    /// Crashes and hangs that are known.
    pub fn known(&self) -> impl Iterator<Item = &str> {
        self.sweeps.iter().flat_map(|sweep| &sweep.known).map(String::as_str)
    }

    /// Unknown crashes inside of a driver that lacked host memory.
    pub fn drivers(&self) -> impl Iterator<Item = &str> {
        self.sweeps.iter().flat_map(|sweep| &sweep.drivers).map(String::as_str)
    }

    /// Entry points that the injector knows and no scenario has called.
    pub fn uncalled(&self) -> Vec<&'static str> {
        let calls = self.sweeps.iter().filter(|sweep| sweep.kind == Kind::Call);
        let called: BTreeSet<_> = calls.flat_map(|call| &call.called).copied().collect();
        let names = EntryPoint::all().map(EntryPoint::name);
        names.filter(|name| !called.contains(name)).collect()
    }
}

/// Runs the command; returns `true` if every promise held.
///
/// # Errors
///
/// An error that kept the command from finding out.
pub fn run(args: &Args) -> anyhow::Result<bool> {
    let bar = indicatif::ProgressBar::new_spinner();
    let reports = sweep(args, &Launch::default(), &|what| {
        bar.set_message(what.to_owned());
        bar.tick();
    });
    bar.finish_and_clear();
    let reports = reports?;
    for report in &reports {
        print!("{}", table(report));
    }
    for report in &reports {
        report.known().for_each(|known| println!("known: {known}"));
        report.drivers().for_each(|driver| println!("DRIVER: {driver}"));
        report.gone.iter().for_each(|gone| println!("known, and not any more: {gone}"));
    }
    let findings: Vec<_> = reports.iter().flat_map(Report::findings).collect();
    for finding in &findings {
        println!("FINDING: {finding}");
    }
    let known = reports.iter().flat_map(Report::known).count();
    let drivers = known + reports.iter().flat_map(Report::drivers).count();
    let injected: usize =
        reports.iter().flat_map(|report| &report.sweeps).map(|it| it.injected).sum();
    println!(
        "{injected} faults injected on {} devices, {} findings; drivers crashed or hung {drivers} \
         times, {known} of them known",
        reports.len(),
        findings.len()
    );
    Ok(findings.is_empty())
}

/// Sweeps every device in worker processes; `progress` is called after each fault with its description.
///
/// # Errors
///
/// No device or scenario has the given name, or a worker cannot be started.
pub fn sweep(
    args: &Args,
    launch: &Launch,
    progress: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<Vec<Report>> {
    let wanted = args.scenario.iter().map(|name| Ok(Scenario::named(name)?.name));
    let wanted = wanted.collect::<anyhow::Result<BTreeSet<_>>>()?;
    let known = KnownFindings::with(args.known.as_deref())?;
    let (found, layer) = survey(launch)?;
    let part = args.device.clone().unwrap_or_default().to_lowercase();
    let is_chosen = |it: &&Device| it.name.to_lowercase().contains(&part);
    let devices: Vec<_> = found.iter().filter(is_chosen).collect();
    let names: Vec<_> = found.iter().map(|it| &it.name).collect();
    ensure!(!devices.is_empty(), "no device is called `{part}`; there are {names:?}");
    let alone = without_layers(launch);
    let timeout = args.timeout.unwrap_or(TIMEOUT);
    let mut sweepers = Vec::new();
    for device in &devices {
        for (kind, launch, layer) in
            [(Kind::Call, launch, layer.as_deref()), (Kind::HostAllocation, &alone, None)]
        {
            let scenarios = SCENARIOS.map(|it| it.name).into_iter();
            let scenarios =
                scenarios.filter(|scenario| wanted.is_empty() || wanted.contains(scenario));
            sweepers.extend(scenarios.map(|scenario| Sweeper {
                device,
                layer,
                scenario,
                kind,
                quick: args.quick,
                timeout,
                launch,
                known: &known,
                progress,
            }));
        }
    }
    let mut sweeps = parallel::map(&sweepers, Sweeper::sweep).into_iter();
    let each = sweepers.len() / devices.len();
    let report = |device: &&Device| report(device, sweeps.by_ref().take(each).collect(), &known);
    Ok(devices.iter().map(report).collect())
}

fn report(device: &Device, sweeps: Vec<Sweep>, known: &KnownFindings) -> Report {
    let tried: BTreeSet<_> = sweeps.iter().flat_map(|sweep| &sweep.tried).collect();
    let occurred: BTreeSet<_> = sweeps.iter().flat_map(|sweep| &sweep.occurred).collect();
    let gone = tried.difference(&occurred);
    let gone = gone.map(|row| format!("{}: {}", device.name, known.row(**row))).collect();
    Report { device: device.name.clone(), driver: device.driver.clone(), sweeps, gone }
}

/// The devices, and the layer if it is on.
fn survey(launch: &Launch) -> anyhow::Result<(Vec<Device>, Option<String>)> {
    let found = |reply| match reply {
        Reply::Survey { devices, layer } => Some((devices, layer)),
        _ => None,
    };
    let (worker, found) = launch.open(&Request::Survey, found)?;
    worker.finish();
    Ok(found)
}

/// The launch with all layers off.
fn without_layers(launch: &Launch) -> Launch {
    let mut launch = launch.clone();
    launch.environment.extend(LAYER_VARIABLES.map(|name| (name, None)));
    launch
}

fn table(report: &Report) -> String {
    let mut text = format!("{} [{}]\n", report.device, report.driver);
    text += &format!(
        "  {:<12}{:<17}{:>7}{:>14}{:>10}{:>9}{:>11}{:>7}{:>10}\n",
        "scenario",
        "what fails",
        "places",
        "entry points",
        "injected",
        "errors",
        "tolerated",
        "driver",
        "findings"
    );
    for it in &report.sweeps {
        text += &format!(
            "  {:<12}{:<17}{:>7}{:>14}{:>10}{:>9}{:>11}{:>7}{:>10}\n",
            it.scenario,
            it.kind.name(),
            it.places,
            it.called.len(),
            it.injected,
            it.refused,
            it.tolerated,
            it.known.len() + it.drivers.len(),
            it.findings.len()
        );
    }
    text + &format!("  not called by any scenario: {}\n", report.uncalled().join(", "))
}

/// Whether the environment requires the validation layer.
fn validation_required() -> bool {
    std::env::var(VALIDATION_VARIABLE).is_ok_and(|it| it == "required")
}

/// Entry points that no scenario can call here, in the injector's order: those of memory that is not
/// coherent, and of a required validation layer if none is required.
pub fn uncallable() -> Vec<&'static str> {
    let required = validation_required();
    let validation = (!required).then_some(VALIDATION);
    validation.into_iter().chain(NOT_COHERENT).collect()
}
