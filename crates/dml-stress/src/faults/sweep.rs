//! Every call of a scenario, and every failure of each.

use std::collections::BTreeSet;

use anyhow::{Context as _, bail};
use dml::ash::vk::Result as Code;
use dml::vk::fault::{EntryPoint, Fault, Hit, Injector};

use super::case::{self, Outcome};
use super::scenario::{Place, Scenario};
use super::watchdog::Watchdog;

/// How many faults a sweep injects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Every failure of every call, and every host allocation.
    Full,
    /// Every failure of the first and the last call of each entry point, and about ten host
    /// allocations.
    Ends,
}

/// What came of a sweep.
#[derive(Debug, Default)]
pub struct Sweep {
    /// The scenario's name.
    pub scenario: &'static str,
    /// Calls of the clean run.
    pub calls: usize,
    /// The entry points called.
    pub called: BTreeSet<&'static str>,
    /// Faults that took place.
    pub injected: usize,
    /// Of them those that became a typed error.
    pub refused: usize,
    /// Of them those that were made up for.
    pub tolerated: usize,
    /// Host allocations that did not fail, as the driver would crash.
    pub spared: usize,
    /// Promises that were broken, each with scenario, call, entry point and result.
    pub findings: Vec<String>,
}

/// Where a sweep takes place.
pub(crate) struct Sweeper<'a> {
    pub(crate) device_name: &'a str,
    pub(crate) scenario: Scenario,
    pub(crate) depth: Depth,
    /// Calls in which no host allocation fails, as the driver would crash.
    pub(crate) spared: &'a [String],
    pub(crate) watchdog: &'a Watchdog,
    /// Called after each run.
    pub(crate) progress: &'a dyn Fn(&str),
}

impl Sweeper<'_> {
    /// Fails every call.
    pub(crate) fn calls(&self) -> anyhow::Result<Sweep> {
        let injector = Injector::new()?;
        let calls = self.clean(&injector)?;
        let mut sweep = self.begin(&calls);
        for (number, entry_point) in (1..).zip(&calls) {
            for result in self.failures(&calls, number, entry_point) {
                let what = format!("call {number}, {} returns {result:?}", entry_point.name());
                self.one(&injector, Fault::Call { number, result }, &what, &mut sweep)?;
            }
        }
        Ok(sweep)
    }

    /// Fails every host allocation.
    pub(crate) fn host_allocations(&self) -> anyhow::Result<Sweep> {
        let injector = Injector::with_host_allocations()?;
        let calls = self.clean(&injector)?;
        let allocations = injector.host_allocations();
        let mut sweep = self.begin(&calls);
        sweep.calls = allocations.len();
        let step = if self.depth == Depth::Full { 1 } else { (allocations.len() / 10).max(1) };
        for (number, call) in (1..).zip(&allocations).step_by(step) {
            if self.spared.contains(&(*call).to_owned()) {
                sweep.spared += 1;
                continue;
            }
            let what = format!("host allocation {number}, in {call}, fails");
            self.one(&injector, Fault::HostAllocation { number }, &what, &mut sweep)?;
        }
        Ok(sweep)
    }

    fn begin(&self, calls: &[&'static EntryPoint]) -> Sweep {
        Sweep {
            scenario: self.scenario.name,
            calls: calls.len(),
            called: calls.iter().map(|it| it.name()).collect(),
            ..Sweep::default()
        }
    }

    /// The calls of a run without a fault, which has to succeed.
    fn clean(&self, injector: &Injector) -> anyhow::Result<Vec<&'static EntryPoint>> {
        match self.run(injector, None, "without a fault")? {
            Ok(Outcome::Clean(calls)) => Ok(calls),
            Ok(other) => bail!("{} without a fault: {other:?}", self.scenario.name),
            Err(problem) => bail!("{} without a fault: {problem}", self.scenario.name),
        }
    }

    fn failures(
        &self,
        calls: &[&'static EntryPoint],
        number: usize,
        entry_point: &EntryPoint,
    ) -> Vec<Code> {
        let failures = entry_point.failures();
        let same = |it: &&EntryPoint| it.name() == entry_point.name();
        match self.depth {
            Depth::Full => failures.to_vec(),
            Depth::Ends => {
                let is_first = calls.iter().position(same) == Some(number - 1);
                let is_last = calls.iter().rposition(same) == Some(number - 1);
                if is_first || is_last { failures.to_vec() } else { Vec::new() }
            }
        }
    }

    fn one(
        &self,
        injector: &Injector,
        fault: Fault,
        what: &str,
        sweep: &mut Sweep,
    ) -> anyhow::Result<()> {
        let outcome = match self.run(injector, Some(fault), what)? {
            Ok(Outcome::Clean(_)) => Err("the fault did not take place".to_owned()),
            Ok(Outcome::Refused(hit) | Outcome::Tolerated(hit)) if !is_hit(fault, hit) => {
                Err(format!("something else failed: {hit:?}"))
            }
            other => other,
        };
        match outcome {
            Ok(Outcome::Refused(_)) => sweep.refused += 1,
            Ok(_) => sweep.tolerated += 1,
            Err(problem) => {
                let name = self.scenario.name;
                sweep.findings.push(format!("{}: {name}: {what}: {problem}", self.device_name));
            }
        }
        sweep.injected += 1;
        Ok(())
    }

    fn run(
        &self,
        injector: &Injector,
        fault: Option<Fault>,
        what: &str,
    ) -> anyhow::Result<Result<Outcome, String>> {
        let folder = tempfile::tempdir().context("a folder for pipelines")?;
        self.watchdog.begin(format!("{}: {}: {what}", self.device_name, self.scenario.name));
        let (scenario, device_name) = (self.scenario, self.device_name);
        let place = Place { scenario, device_name, injector, folder: folder.path() };
        let outcome = case::run(&place, fault);
        (self.progress)(what);
        Ok(outcome)
    }
}

/// Whether the fault that took place is the one that was meant.
fn is_hit(fault: Fault, hit: Hit) -> bool {
    match fault {
        Fault::Call { result, .. } => !hit.host_allocation && hit.result == result,
        _ => hit.host_allocation,
    }
}
