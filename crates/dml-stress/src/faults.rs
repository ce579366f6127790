//! `faults`: every Vulkan call of a program fails once with everything that Vulkan documents for it,
//! and so does every host allocation.
//!
//! A fault must become a typed error that names the call, or be made up for; never a panic, a hang, a
//! leaked object, or wrong bytes. Afterwards the same device goes on, or a new one where it was lost.

mod case;
mod request;
mod scenario;
mod sweep;
mod watchdog;

use std::collections::BTreeSet;

use anyhow::{bail, ensure};
use dml::vk::Instance;
use dml::vk::fault::EntryPoint;

use scenario::SCENARIOS;
pub use sweep::Sweep;
use sweep::{Depth, Sweeper};
use watchdog::Watchdog;

/// Entry points that are called only for memory that is not HOST_COHERENT, which no CPU driver has.
const NOT_COHERENT: [&str; 2] = ["vkFlushMappedMemoryRanges", "vkInvalidateMappedMemoryRanges"];

/// Drivers, by a part of the device's name, that crash where a host allocation inside of a call fails.
/// Mesa 22.3 does not look whether it got memory for a pipeline layout.
const CRASHES: [(&str, &str); 1] = [("llvmpipe", "vkCreatePipelineLayout")];

/// Where the driver refuses a submission for want of host memory, the validation layer's own thread
/// follows a null pointer. In vkCreateInstance the layer overlooks that it got no memory, and crashes in
/// the next call.
const CRASHES_THE_LAYER: [&str; 2] = ["vkQueueSubmit", "vkCreateInstance"];

/// Called only where the validation layer is required.
const VALIDATION: &str = "vkEnumerateInstanceLayerProperties";

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
    /// Fail no host allocation inside of this call, for a driver that crashes; may be repeated
    #[arg(long, value_name = "CALL")]
    pub spare: Vec<String>,
}

/// The sweeps of one device.
#[derive(Debug)]
pub struct Report {
    /// The device's name.
    pub device: String,
    /// One for each scenario, where calls fail.
    pub calls: Vec<Sweep>,
    /// One for each scenario, where host allocations fail.
    pub host: Vec<Sweep>,
}

impl Report {
    /// All sweeps.
    pub fn sweeps(&self) -> impl Iterator<Item = &Sweep> {
        self.calls.iter().chain(&self.host)
    }

    /// Every broken promise.
    pub fn findings(&self) -> impl Iterator<Item = &str> {
        self.sweeps().flat_map(|it| &it.findings).map(String::as_str)
    }

    /// Entry points that the injector knows and no scenario has called.
    pub fn uncalled(&self) -> Vec<&'static str> {
        let called: BTreeSet<_> = self.calls.iter().flat_map(|it| &it.called).copied().collect();
        let names = EntryPoint::all().map(EntryPoint::name);
        names.filter(|name| !called.contains(name)).collect()
    }
}

/// Runs the command; `true` where every promise held.
///
/// # Errors
///
/// Whatever kept the command from finding out.
#[allow(clippy::print_stdout, reason = "a command prints")]
pub fn run(args: &Args) -> anyhow::Result<bool> {
    let bar = indicatif::ProgressBar::new_spinner();
    let reports = sweep(args, &|what| {
        bar.set_message(what.to_owned());
        bar.tick();
    });
    bar.finish_and_clear();
    let reports = reports?;
    for report in &reports {
        print!("{}", table(report));
    }
    let findings: Vec<_> = reports.iter().flat_map(Report::findings).collect();
    for finding in &findings {
        println!("FINDING: {finding}");
    }
    let injected: usize = reports.iter().flat_map(Report::sweeps).map(|it| it.injected).sum();
    println!(
        "{injected} faults injected on {} devices, {} findings",
        reports.len(),
        findings.len()
    );
    Ok(findings.is_empty())
}

/// Sweeps every device; `progress` is called after each run with what it was.
///
/// # Errors
///
/// There is no device, or a scenario fails without a fault.
pub fn sweep(args: &Args, progress: &dyn Fn(&str)) -> anyhow::Result<Vec<Report>> {
    let is_known = |name: &&String| SCENARIOS.iter().any(|it| it.name == **name);
    if let Some(name) = args.scenario.iter().find(|name| !is_known(name)) {
        bail!("--scenario {name}: accepted are {}", SCENARIOS.map(|it| it.name).join(", "));
    }
    // Keeps the drivers loaded, which takes longer than a run.
    let instance = Instance::new(&dml::InstanceDesc::default())?;
    let devices = instance.physical_devices()?;
    let usable = devices.iter().filter(|it| it.unsuitable().is_none());
    let wanted = args.device.clone().unwrap_or_default().to_lowercase();
    let names: Vec<_> = usable.map(|it| it.info().name.clone()).collect();
    let chosen = names.iter().filter(|it| it.to_lowercase().contains(&wanted));
    let watchdog = Watchdog::start();
    let depth = if args.quick { Depth::Ends } else { Depth::Full };
    let reports = chosen.map(|name| report(name, args, depth, &watchdog, progress));
    let reports = reports.collect::<anyhow::Result<Vec<_>>>()?;
    ensure!(!reports.is_empty(), "no device is called `{wanted}`; there are {names:?}");
    Ok(reports)
}

fn report(
    device_name: &str,
    args: &Args,
    depth: Depth,
    watchdog: &Watchdog,
    progress: &dyn Fn(&str),
) -> anyhow::Result<Report> {
    let wanted = &args.scenario;
    let is_wanted = |name| wanted.is_empty() || wanted.iter().any(|it| it == name);
    let scenarios = || SCENARIOS.into_iter().filter(|it| is_wanted(it.name));
    let crashes = CRASHES.into_iter().filter(|(driver, _)| device_name.contains(driver));
    let layer = CRASHES_THE_LAYER.into_iter().filter(|_| validation_required());
    let crashes = crashes.map(|(_, call)| call).chain(layer).map(str::to_owned);
    let spared = args.spare.iter().cloned().chain(crashes);
    let spared: &[String] = &spared.collect::<Vec<_>>();
    let sweeper = |scenario| Sweeper { device_name, scenario, depth, spared, watchdog, progress };
    let calls = scenarios().map(|it| sweeper(it).calls()).collect::<anyhow::Result<_>>()?;
    let host = scenarios().map(|it| sweeper(it).host_allocations());
    let host = host.collect::<anyhow::Result<_>>()?;
    Ok(Report { device: device_name.to_owned(), calls, host })
}

fn table(report: &Report) -> String {
    let mut text = format!("{}\n", report.device);
    text += &format!(
        "  {:<12}{:<17}{:>7}{:>14}{:>10}{:>9}{:>11}{:>10}\n",
        "scenario",
        "what fails",
        "places",
        "entry points",
        "injected",
        "errors",
        "tolerated",
        "findings"
    );
    let rows = report.calls.iter().map(|it| ("call", it));
    for (what, it) in rows.chain(report.host.iter().map(|it| ("host allocation", it))) {
        text += &format!(
            "  {:<12}{:<17}{:>7}{:>14}{:>10}{:>9}{:>11}{:>10}\n",
            it.scenario,
            what,
            it.calls,
            it.called.len(),
            it.injected,
            it.refused,
            it.tolerated,
            it.findings.len()
        );
    }
    let spared: usize = report.host.iter().map(|it| it.spared).sum();
    text += &format!(
        "  host allocations left alone, as the driver or the layer would crash: {spared}\n"
    );
    text + &format!("  not called by any scenario: {}\n", report.uncalled().join(", "))
}

/// Whether the tests were told that the validation layer must be on.
fn validation_required() -> bool {
    std::env::var("DML_TEST_VALIDATION").is_ok_and(|it| it == "required")
}

/// Entry points that no scenario can call here, in the injector's order: those of memory that is not coherent, and of a required
/// validation layer where none is.
pub fn uncallable() -> Vec<&'static str> {
    let required = validation_required();
    let validation = (!required).then_some(VALIDATION);
    validation.into_iter().chain(NOT_COHERENT).collect()
}
