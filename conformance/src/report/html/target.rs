//! One device under one profile.

use dml::{FeatureLevel, Numerics};

use super::excuse::Excuse;
use super::grid::{self, OperatorView};
use super::mark::Mark;
use super::timing::{self, Bar};
use super::{OPEN_OPERATORS, OPEN_TARGETS, shown_failures};
use crate::report::text::{count, on_or_off, thousands};
use crate::results::{CaseResult, Counts, Run, TargetRun};

/// The contents of the page for a target.
pub(super) struct TargetView<'a> {
    pub(super) run: &'a TargetRun,
    /// The anchor for links.
    pub(super) anchor: String,
    pub(super) verdict: Mark,
    pub(super) counts: Counts,
    /// The counts in the columns of the overview.
    pub(super) columns: Vec<String>,
    /// Every feature level, whether it was run or not.
    pub(super) levels: Vec<(String, Mark)>,
    pub(super) operators: Operators,
    pub(super) failures: Vec<&'a CaseResult>,
    /// The number of failures that are not shown; empty if all are.
    pub(super) more_failures: String,
    pub(super) excuses: Vec<Excuse>,
    /// The operators that were executed, and those that were not.
    pub(super) execution: Option<String>,
    /// The number of operators whose kernels ran, the other ones, and the cases that the host made.
    pub(super) dispatching: Option<String>,
    pub(super) distribution: Vec<Bar>,
    pub(super) is_open: bool,
}

/// The grids of a target.
pub(super) enum Operators {
    /// The target has these grids.
    Own(Vec<OperatorView>),
    /// The grids are those of an earlier target: its anchor and its title.
    Alike(String, String),
}

/// All targets of a run.
pub(super) fn views(run: &Run) -> Vec<TargetView<'_>> {
    let mut views = Vec::<TargetView<'_>>::new();
    for (index, target) in run.targets.iter().enumerate() {
        let operators = grid::operators(target);
        let own = |view: &&TargetView<'_>| match &view.operators {
            Operators::Own(own) => *own == operators,
            Operators::Alike(..) => false,
        };
        let operators = match views.iter().find(own) {
            Some(view) => Operators::Alike(view.anchor.clone(), view.run.title()),
            None => Operators::Own(operators),
        };
        views.push(TargetView::new(run, target, index, operators));
    }
    views
}

impl Operators {
    /// Whether there are so many operators that each is folded.
    pub(super) fn are_many(operators: &[OperatorView]) -> bool {
        operators.len() > OPEN_OPERATORS
    }
}

impl<'a> TargetView<'a> {
    fn new(run: &Run, target: &'a TargetRun, index: usize, operators: Operators) -> Self {
        let counts = target.total();
        let levels = target.levels();
        let level = |level: FeatureLevel| {
            let counts = levels.get(&level).copied().unwrap_or_default();
            (level.to_string(), Mark::of(counts))
        };
        let limit = shown_failures(run.targets.len());
        let failures = target.cases.iter().filter(|case| case.result.is_failure());
        let hidden = counts.failures().saturating_sub(limit as u64);
        let number = |code| thousands(counts.of(code));
        Self {
            run: target,
            anchor: format!("target-{}", index + 1),
            verdict: Mark::of(counts),
            counts,
            columns: run.total().columns().into_iter().map(number).collect(),
            levels: FeatureLevel::ALL.map(level).to_vec(),
            operators,
            failures: failures.take(limit).collect(),
            more_failures: if hidden > 0 { thousands(hidden) } else { String::new() },
            excuses: Excuse::all(target),
            execution: target.execution(),
            dispatching: target.dispatching(),
            distribution: timing::distribution(target),
            is_open: run.targets.len() <= OPEN_TARGETS || counts.failures() > 0,
        }
    }

    /// The wall-clock time of the whole target.
    pub(super) fn seconds(&self) -> String {
        format!("{:.1}", self.run.seconds)
    }

    pub(super) fn cases(&self) -> String {
        count(self.counts.all(), "case")
    }

    /// The profile's name, or the device's: the name that distinguishes targets on the same device.
    pub(super) fn name(&self) -> String {
        let TargetRun { device, profile, strategy, emulated, numerics, .. } = self.run;
        let profile = profile.as_ref().map(|profile| profile.name.clone());
        let strategy = strategy.as_ref().map(|strategy| format!("by {strategy}"));
        let emulated = emulated.then(|| "with emulated types".to_owned());
        let fast = (*numerics == Numerics::Fast).then(|| "with fast numerics".to_owned());
        let parts: Vec<String> =
            [profile, strategy, emulated, fast].into_iter().flatten().collect();
        if parts.is_empty() { device.name.clone() } else { parts.join(" ") }
    }

    /// The name and the surroundings of the device.
    pub(super) fn device(&self) -> String {
        format!("{}: {}", self.run.device.name, self.run.surroundings())
    }

    /// The device of a profile, or the driver of a device: the part that the target's name leaves open.
    pub(super) fn on(&self) -> String {
        let device = &self.run.device.name;
        if self.name() == *device { self.run.surroundings() } else { device.clone() }
    }

    /// The names and values of the limits.
    pub(super) fn limits(&self) -> impl Iterator<Item = (&str, String)> {
        self.run.limits.iter().map(|(name, value)| (name.as_str(), thousands(*value)))
    }

    /// The names and values that identify the device.
    pub(super) fn identity(&self) -> Vec<(&'static str, String)> {
        let device = &self.run.device;
        let ids = format!("0x{:04x} / 0x{:04x}", device.vendor_id, device.device_id);
        let all = [
            ("device", device.name.clone()),
            ("kind", device.kind.clone()),
            ("vendor / device id", ids),
            ("driver", device.driver()),
            ("driver version", device.driver_version.to_string()),
            ("Vulkan", device.api_version.clone()),
            ("UUID", device.uuid.clone()),
            ("numerics", self.run.numerics.to_string()),
            ("validation layer", on_or_off(self.run.validation).to_owned()),
            ("robust access", self.run.robust_access.map_or("", on_or_off).to_owned()),
            ("staged transfers", if self.run.staged_transfers { "on" } else { "" }.to_owned()),
            ("work bound", self.run.work_bound.map_or(String::new(), |bound| bound.to_string())),
        ];
        all.into_iter().filter(|(_, value)| !value.is_empty()).collect()
    }

    pub(super) fn failure_count(&self) -> String {
        count(self.counts.failures(), "failure")
    }
}
