//! Every failure of every call of a scenario, or of every host allocation: in worker processes, so that a
//! crash only costs its fault.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use dml::ash::vk::Result as Code;
use dml_conformance::child::{self, Event, Launch};
use dml_fault::EntryPoint;

use super::known::{KnownFindings, ProcessFailure, Spot};
use super::protocol::{Answer, Device, Kind, Order, Reply, Request};

/// A process that injects faults.
type Worker = child::Worker<Reply>;

/// Rust's messages of a panic or an abort; a driver's crash prints none of them.
const RUST_SAYS: [&str; 4] =
    ["panicked at", "non-unwinding panic", "fatal runtime error", "memory allocation of"];

/// The result of a sweep.
#[derive(Debug, Default)]
pub struct Sweep {
    /// The scenario's name.
    pub scenario: &'static str,
    /// The kind of faults.
    pub(crate) kind: Kind,
    /// The number of places in the clean run where a fault is possible.
    pub places: usize,
    /// The entry points called.
    pub called: BTreeSet<&'static str>,
    /// The number of faults that were injected.
    pub injected: usize,
    /// The number of faults that became a typed error.
    pub refused: usize,
    /// The number of faults that were worked around.
    pub tolerated: usize,
    /// Promises that were broken, and crashes and hangs that the runtime may have caused: each with the
    /// device, the scenario, and the fault.
    pub findings: Vec<String>,
    /// Known crashes and hangs, described in the same way, with the reason.
    pub known: Vec<String>,
    /// Other crashes inside of a driver that did not get the host memory that it asked for: reported, but not
    /// a broken promise of the runtime.
    pub drivers: Vec<String>,
    /// The rows of known findings whose fault was injected.
    pub(crate) tried: BTreeSet<usize>,
    /// The rows that excused something.
    pub(crate) occurred: BTreeSet<usize>,
}

/// The settings of a sweep.
pub(crate) struct Sweeper<'a> {
    pub(crate) device: &'a Device,
    /// The layer, if it is on.
    pub(crate) layer: Option<&'a str>,
    pub(crate) scenario: &'static str,
    pub(crate) kind: Kind,
    /// Only the first and the last call of each entry point, and about ten host allocations.
    pub(crate) quick: bool,
    /// The longest time for one fault.
    pub(crate) timeout: Duration,
    pub(crate) launch: &'a Launch,
    pub(crate) known: &'a KnownFindings,
    /// Called after each fault.
    pub(crate) progress: &'a (dyn Fn(&str) + Sync),
}

/// A fault, and the entry point that fails.
struct Fault {
    order: Order,
    call: &'static str,
}

/// The calls of a run without a fault, and those in which there were host allocations.
struct EntryPointCalls {
    calls: Vec<&'static EntryPoint>,
    allocations: Vec<&'static EntryPoint>,
}

/// The failure of a worker.
struct Accident {
    happens: ProcessFailure,
    /// The call of a layer or driver that it was inside of, if known.
    inside: Option<String>,
    /// The exit status, and the last lines that it printed.
    detail: String,
}

impl Sweeper<'_> {
    /// Injects every fault, one after the other. A problem that stops the sweep is a finding.
    pub(crate) fn sweep(&self) -> Sweep {
        let mut sweep = Sweep { scenario: self.scenario, kind: self.kind, ..Sweep::default() };
        if let Err(error) = self.fill(&mut sweep) {
            sweep.findings.push(format!("{}: {error:#}", self.title()));
        }
        sweep
    }

    fn fill(&self, sweep: &mut Sweep) -> anyhow::Result<()> {
        let (mut worker, places) = self.open(false)?;
        sweep.called = places.calls.iter().map(|call| call.name()).collect();
        let faults = match self.kind {
            Kind::Call => self.calls(&places.calls),
            Kind::HostAllocation => self.allocations(&places.allocations),
        };
        sweep.places = match self.kind {
            Kind::Call => places.calls.len(),
            Kind::HostAllocation => places.allocations.len(),
        };
        for fault in &faults {
            sweep.injected += 1;
            sweep.tried.extend(self.known.about(self.spot(fault)));
            match ask(&mut worker, &fault.order, self.timeout, &mut None) {
                Ok(Answer::Refused) => sweep.refused += 1,
                Ok(Answer::Tolerated) => sweep.tolerated += 1,
                Ok(Answer::Broken(problem)) => {
                    sweep.findings.push(format!("{}: {problem}", self.name(fault)));
                }
                Err(happens) => {
                    let accident = self.again(fault, happens, ended(worker, happens))?;
                    self.note(fault, &accident, sweep);
                    worker = self.open(false)?.0;
                }
            }
            (self.progress)(&self.name(fault));
        }
        worker.finish();
        Ok(())
    }

    /// Every failure of every call, or of the first and the last call of each entry point.
    fn calls(&self, calls: &[&'static EntryPoint]) -> Vec<Fault> {
        let is_end = |index: usize| {
            let same = |it: &&EntryPoint| it.name() == calls[index].name();
            let ends = [calls.iter().position(same), calls.iter().rposition(same)];
            ends.contains(&Some(index))
        };
        let wanted = calls.iter().enumerate().filter(|(index, _)| !self.quick || is_end(*index));
        let fault = |index, call: &'static str, result: &Code| {
            let number = index + 1;
            let what = format!("call {number}, {call} returns {result:?}");
            Fault { order: Order { number, result: Some(result.as_raw()), what }, call }
        };
        wanted
            .flat_map(|(index, it)| {
                it.failures().iter().map(move |result| fault(index, it.name(), result))
            })
            .collect()
    }

    fn allocations(&self, calls: &[&'static EntryPoint]) -> Vec<Fault> {
        let step = if self.quick { (calls.len() / 10).max(1) } else { 1 };
        let fault = |(number, call): (usize, &&'static EntryPoint)| {
            let call = call.name();
            let what = format!("host allocation {number}, in {call}, fails");
            Fault { order: Order { number, result: None, what }, call }
        };
        (1..).zip(calls).step_by(step).map(fault).collect()
    }

    /// A worker that has run the scenario without a fault.
    fn open(&self, watched: bool) -> anyhow::Result<(Worker, EntryPointCalls)> {
        let (device, scenario) = (self.device.name.clone(), self.scenario.to_owned());
        let request = Request::Open { device, scenario, kind: self.kind, watched };
        let names = |reply| match reply {
            Reply::Ready { calls, allocations } => Some((calls, allocations)),
            _ => None,
        };
        let (worker, (calls, allocations)) = self.launch.open(&request, names)?;
        let entry_points = |names: Vec<String>| {
            names.iter().map(|name| entry_point(name)).collect::<anyhow::Result<_>>()
        };
        let (calls, allocations) = (entry_points(calls)?, entry_points(allocations)?);
        Ok((worker, EntryPointCalls { calls, allocations }))
    }

    /// Injects the fault once more, in a worker that reports every call that reaches a layer or driver.
    fn again(
        &self,
        fault: &Fault,
        happens: ProcessFailure,
        detail: String,
    ) -> anyhow::Result<Accident> {
        let (mut worker, _) = self.open(true)?;
        let mut inside = None;
        Ok(match ask(&mut worker, &fault.order, self.timeout, &mut inside) {
            Err(happens) => Accident { happens, inside, detail: ended(worker, happens) },
            Ok(_) => {
                worker.finish();
                let detail = format!("{detail}; not so when tried again");
                Accident { happens, inside: None, detail }
            }
        })
    }

    fn note(&self, fault: &Fault, accident: &Accident, sweep: &mut Sweep) {
        let Accident { happens, inside, detail } = accident;
        let (name, happens_name) = (self.name(fault), happens.name());
        let is_ours = RUST_SAYS.iter().any(|words| detail.contains(words));
        let Some(inside) = inside else {
            sweep.findings.push(format!("{name}: {happens_name} outside of any call: {detail}"));
            return;
        };
        let text = format!("{name}: {happens_name} inside of {inside}: {detail}");
        match self.known.excuse(self.spot(fault), *happens).filter(|_| !is_ours) {
            Some(row) => {
                sweep.occurred.insert(row);
                sweep.known.push(format!("{text}; {}", self.known.row(row).reason));
            }
            // The runtime's behaviour after a failed call is tested by failing the calls themselves. A hang
            // may be the runtime waiting for something that never happens.
            None if self.kind == Kind::HostAllocation
                && *happens == ProcessFailure::Crash
                && !is_ours =>
            {
                sweep.drivers.push(text);
            }
            None => sweep.findings.push(text),
        }
    }

    fn spot<'a>(&'a self, fault: &'a Fault) -> Spot<'a> {
        let names = [self.device.name.as_str(), self.device.driver.as_str()];
        Spot { names, layer: self.layer, kind: self.kind, call: fault.call }
    }

    fn name(&self, fault: &Fault) -> String {
        format!("{}: {}", self.title(), fault.order.what)
    }

    fn title(&self) -> String {
        let Device { name, driver } = self.device;
        let layer = self.layer.map_or_else(String::new, |it| format!(", {it}"));
        format!("{name} [{driver}{layer}]: {}", self.scenario)
    }
}

/// The answer to an order, or how the worker ended; `inside` is the call that it was in then.
fn ask(
    worker: &mut Worker,
    order: &Order,
    timeout: Duration,
    inside: &mut Option<String>,
) -> Result<Answer, ProcessFailure> {
    worker.send(&serde_json::to_string(order).expect("numbers and a text become JSON"));
    let deadline = Instant::now() + timeout;
    loop {
        match worker.next(deadline) {
            Event::Reply(Reply::Inside(call)) => *inside = call,
            Event::Reply(Reply::Done(answer)) => return Ok(answer),
            Event::Refused(refusal) => return Ok(Answer::Broken(refusal.message)),
            Event::TimedOut => return Err(ProcessFailure::Hang),
            Event::Ended | Event::Reply(_) => return Err(ProcessFailure::Crash),
        }
    }
}

/// Ends a worker that has crashed or hangs; returns its exit status and last output.
fn ended(worker: Worker, happens: ProcessFailure) -> String {
    match happens {
        ProcessFailure::Crash => worker.autopsy(),
        ProcessFailure::Hang => format!("not done in time; {}", worker.stop()),
    }
}

fn entry_point(name: &str) -> anyhow::Result<&'static EntryPoint> {
    let mut all = EntryPoint::all();
    all.find(|it| it.name() == name).with_context(|| format!("there is no entry point {name}"))
}
