//! A worker process: injects the faults that it is told to, so that a driver that crashes ends nothing
//! else.

use std::sync::mpsc::Receiver;

use anyhow::{Context as _, bail};
use dml::ash::vk::Result as Code;
use dml::vk::{DeviceInfo, Instance, InstanceDesc};
use dml_conformance::child::{answer, serve};
use dml_conformance::fault::Fault as Accident;
use dml_fault::{Fault, Hit, Injector};

use super::case::{self, Outcome};
use super::on_purpose;
use super::protocol::{Answer, Device, Kind, Order, Reply, Request};
use super::scenario::{Scenario, ScenarioContext};

/// Does what standard input says until it ends.
///
/// # Errors
///
/// Standard input is no request, or standard output is closed.
pub fn work() -> anyhow::Result<()> {
    let work = |request, orders: &Receiver<String>| match request {
        Request::Survey => answer(&survey()?),
        Request::Open { device, scenario, kind, watched } => {
            inject(&device, &scenario, kind, watched, orders)
        }
    };
    serve("faults", work, |_| 1)
}

fn survey() -> anyhow::Result<Reply> {
    let instance = Instance::new(&InstanceDesc::default())?;
    let devices = instance.physical_devices()?;
    let usable = devices.iter().filter(|device| device.unsuitable().is_none());
    let devices = usable
        .map(|usable| Device { name: usable.info().name.clone(), driver: driver(usable.info()) });
    let layer = if super::validation_required() { dml_fault::validation_layer()? } else { None };
    Ok(Reply::Survey { devices: devices.collect(), layer })
}

/// The driver's name and version, as far as it tells them.
fn driver(info: &DeviceInfo) -> String {
    let version = format!("version {}", info.driver_version);
    let told = [info.driver_name.clone(), info.driver_info.clone(), version];
    told.into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>().join(" ")
}

fn inject(
    device_name: &str,
    scenario: &str,
    kind: Kind,
    watched: bool,
    orders: &Receiver<String>,
) -> anyhow::Result<()> {
    let accident = Accident::from_environment(on_purpose::VARIABLE, &on_purpose::ACCIDENTS)?;
    // Keeps the drivers loaded, which takes longer than a run.
    let _loaded = Instance::new(&InstanceDesc::default())?;
    let scenario = Scenario::named(scenario)?;
    let injector = match kind {
        Kind::Call => Injector::new()?,
        Kind::HostAllocation => Injector::with_host_allocations()?,
    };
    let calls = match run(&injector, device_name, scenario, None)? {
        Ok(Outcome::Clean(calls)) => calls,
        Ok(other) => bail!("without a fault: {other:?}"),
        Err(problem) => bail!("without a fault: {problem}"),
    };
    let calls = calls.iter().map(|call| call.name().to_owned()).collect();
    let allocations = injector.host_allocations().into_iter().map(str::to_owned).collect();
    answer(&Reply::Ready { calls, allocations })?;
    if watched {
        injector.watch(tell);
    } else if accident.is_some() {
        injector.watch(on_purpose::strike_inside);
    }
    for order in orders {
        let order: Order = serde_json::from_str(&order)?;
        if let Some(accident) = accident.as_ref().and_then(|accident| accident.at(&order.what)) {
            on_purpose::strike(accident, &order.what);
        }
        let fault = match order.result {
            Some(code) => Fault::Call { number: order.number, result: Code::from_raw(code) },
            None => Fault::HostAllocation { number: order.number },
        };
        let outcome = run(&injector, device_name, scenario, Some(fault))?;
        answer(&Reply::Done(judged(fault, outcome)))?;
    }
    Ok(())
}

/// Runs the scenario with pipelines kept in a folder that is empty at first.
fn run(
    injector: &Injector,
    device_name: &str,
    scenario: Scenario,
    fault: Option<Fault>,
) -> anyhow::Result<Result<Outcome, String>> {
    let folder = tempfile::tempdir().context("a folder for pipelines")?;
    let place = ScenarioContext { scenario, device_name, injector, folder: folder.path() };
    Ok(case::run(&place, fault))
}

fn judged(fault: Fault, outcome: Result<Outcome, String>) -> Answer {
    match outcome {
        Ok(Outcome::Clean(_)) => Answer::Broken("the fault did not take place".to_owned()),
        Ok(Outcome::Refused(hit) | Outcome::Tolerated(hit)) if !is_hit(fault, hit) => {
            Answer::Broken(format!("something else failed: {hit:?}"))
        }
        Ok(Outcome::Refused(_)) => Answer::Refused,
        Ok(Outcome::Tolerated(_)) => Answer::Tolerated,
        Err(problem) => Answer::Broken(problem),
    }
}

/// Whether the fault that took place is the one that was meant.
fn is_hit(fault: Fault, hit: Hit) -> bool {
    match fault {
        Fault::Call { result, .. } => !hit.host_allocation && hit.result == result,
        _ => hit.host_allocation,
    }
}

/// Where nobody reads any more, the process ends soon.
fn tell(call: Option<&'static str>) {
    let _ = answer(&Reply::Inside(call.map(str::to_owned)));
    on_purpose::strike_inside(call);
}
