//! What a run found, as data: the JSON form of a report, and what every other form is made from.

pub(crate) mod block;
pub(crate) mod errors;
pub(crate) mod tally;
mod verdict;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use dml::FeatureLevel;
use serde::{Deserialize, Serialize};

use crate::cases::CaseId;

pub use block::Block;
pub use errors::{CaseError, LargestError};
pub use verdict::{Counts, Verdict};

/// Counts up when a member of the JSON form changes its meaning or goes away.
pub const FORMAT: u32 = 2;

/// A whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// [`FORMAT`] of the version that wrote it.
    pub format: u32,
    /// The version of the conformance runner and of the runtime in it.
    pub conformance_version: String,
    /// What was asked for.
    pub selection: Selection,
    /// How the devices compare with each other, where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreement: Option<Agreement>,
    /// One entry for each device under each profile.
    pub targets: Vec<TargetRun>,
}

/// How many cases have the same results on all targets that are Vulkan devices, NaNs and subnormal
/// FLOAT32 numbers aside. Those that differ have failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agreement {
    /// The cases that passed on more than one target.
    pub compared: u64,
    /// Those of them whose results are the same on each.
    pub agreed: u64,
}

/// Which cases a run was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selection {
    /// The feature levels.
    pub levels: Vec<String>,
    /// The glob that ids had to match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// Random cases for each operator, data type and rank.
    pub random: u32,
    /// What they were made from.
    pub seed: u64,
    /// Which of how many parts, such as `2/3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<String>,
    /// Whether the ids came from a list.
    #[serde(default)]
    pub case_list: bool,
}

/// What one device did, under one profile or as it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TargetRun {
    /// The device.
    pub device: DeviceIdentity,
    /// The profile, unless the device ran as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileRun>,
    /// The strategy that was preferred, unless the runtime chose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<String>,
    /// Whether the validation layer was on.
    pub validation: bool,
    /// Whether kernels were kept inside of what is bound (robustBufferAccess); `None` on the host
    /// interpreter, which refuses what is not, and in reports that do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub robust_access: Option<bool>,
    /// Features under Vulkan's names: whether the target offers them.
    pub features: BTreeMap<String, bool>,
    /// Limits under Vulkan's names.
    pub limits: BTreeMap<String, u64>,
    /// What the runtime says about each implemented operator, before anything ran.
    pub support: Vec<Support>,
    /// The largest errors, by operator, data type and what is allowed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<LargestError>,
    /// The operators that have to be executed, or the target is not conformant: those with cases that
    /// have outputs, and in a run over all cases every one.
    #[serde(default)]
    pub required: Vec<String>,
    /// How many cases passed.
    #[serde(default)]
    pub passes: Vec<Passes>,
    /// Every case that did not pass.
    pub cases: Vec<CaseResult>,
    /// How long the cases took.
    #[serde(default)]
    pub times: Times,
    /// Wall clock of the cases, in seconds.
    pub seconds: f64,
}

/// Who a device is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DeviceIdentity {
    /// Its name.
    pub name: String,
    /// Such as `discrete GPU`, `CPU` or `host interpreter`.
    pub kind: String,
    /// PCI vendor, or a Khronos vendor id.
    pub vendor_id: u32,
    /// The vendor's id of the device.
    pub device_id: u32,
    /// The version of Vulkan that it supports, such as `1.3.230`; empty where there is no Vulkan.
    pub api_version: String,
    /// The driver's name.
    pub driver_name: String,
    /// The driver's own words about its version.
    pub driver_info: String,
    /// The driver's version, packed as the vendor packs it.
    pub driver_version: u32,
    /// VkDriverId, 0 where unknown.
    pub driver_id: i32,
    /// The same across processes on one machine.
    pub uuid: String,
}

/// A profile that a device ran under.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfileRun {
    /// Its name.
    pub name: String,
    /// What finds it again: its name, or the path of its file.
    #[serde(default)]
    pub source: String,
    /// What it stands for, in a line.
    pub about: String,
    /// Profiles that come to the same on this device, and so did not run again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// What it states and the device cannot represent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shortfalls: Vec<String>,
}

/// An answer of the support query.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Support {
    /// The operator's name.
    pub operator: String,
    /// For what it is the answer.
    pub at: Block,
    /// One of `never`, `undocumented`, `needs-level`, `not-implemented`, `emulated`, `native`.
    pub answer: String,
    /// The answer in words, such as `emulated (without shaderInt64: two 32-bit words)`.
    pub text: String,
}

/// How many cases passed of an operator, in each of several places.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passes {
    /// The operator's name.
    pub operator: String,
    /// Where.
    pub at: Block,
    /// How many passed at each level with each data type and rank.
    pub cases: u64,
    /// How many of them were executed, at that level or once for several at the lowest of them.
    pub executed: u64,
}

/// How long cases took, in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Times {
    /// How many took about as long, the shortest first.
    pub bands: Vec<TimeBand>,
    /// Those that took longest, the slowest first.
    pub slowest: Vec<SlowCase>,
}

/// How many cases took less time than this, and not less than the band before says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeBand {
    /// In microseconds; the last band has no end.
    pub below: Option<u64>,
    /// How many.
    pub cases: u64,
}

/// A case that took long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlowCase {
    /// Which.
    pub id: CaseId,
    /// How long, in microseconds.
    pub microseconds: u64,
}

/// How one case ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseResult {
    /// The case's stable name.
    pub id: CaseId,
    /// How it ended.
    pub result: ResultCode,
    /// Whether its outputs were computed, at its level or once for several at the lowest of them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub executed: bool,
    /// Why, in a line, unless it passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Why it is expected to fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<Expected>,
    /// What is known about a wrong output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Box<Failure>>,
    /// Wall clock, in microseconds.
    pub microseconds: u64,
    /// What stands for the elements of its outputs until devices are compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<u64>,
    /// How far its results are from what they must be, until the target's largest errors are known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<CaseError>,
}

/// How a case ended, or that it did not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResultCode {
    /// What had to happen happened.
    Pass,
    /// Something else happened.
    Fail,
    /// A limit of the device refused a legal case.
    Unsupported,
    /// It did not pass, and an expectation says why.
    ExpectedFail,
    /// It passed, though an expectation says that it does not.
    UnexpectedPass,
    /// The process that ran it ended.
    Crash,
    /// It did not end in time.
    Timeout,
    /// The target cannot run it.
    NotRun,
}

impl ResultCode {
    /// All codes.
    pub const ALL: [Self; 8] = [
        Self::Pass,
        Self::Fail,
        Self::Unsupported,
        Self::ExpectedFail,
        Self::UnexpectedPass,
        Self::Crash,
        Self::Timeout,
        Self::NotRun,
    ];

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Unsupported => "unsupported",
            Self::ExpectedFail => "expected-fail",
            Self::UnexpectedPass => "unexpected-pass",
            Self::Crash => "crash",
            Self::Timeout => "timeout",
            Self::NotRun => "not-run",
        }
    }

    /// Whether the run as a whole has failed with it.
    pub const fn is_failure(self) -> bool {
        matches!(self, Self::Fail | Self::UnexpectedPass | Self::Crash | Self::Timeout)
    }
}

/// An expectation that applied to a case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expected {
    /// Whether it will ever pass.
    pub kind: ExpectedKind,
    /// Why it does not.
    pub reason: String,
}

/// Whether a case that fails will ever pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExpectedKind {
    /// The device or its driver cannot.
    Never,
    /// Something is to be mended.
    NotYet,
}

/// What is known about a case whose outputs were wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The operator's fields.
    pub descriptor: String,
    /// The plan's steps.
    pub plan: String,
    /// The surroundings of the first wrong element; `None` where no element is wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matrices: Option<Excerpt>,
}

/// A part of one matrix of an output, as it must be and as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Excerpt {
    /// Which output.
    pub output: usize,
    /// The coordinates of the matrix in the leading dimensions.
    pub batch: Vec<u32>,
    /// The row of the first element that is shown.
    pub first_row: u32,
    /// The column of the first element that is shown.
    pub first_column: u32,
    /// Rows of elements as they must be.
    pub expected: Vec<Vec<String>>,
    /// The same elements as they are.
    pub actual: Vec<Vec<String>>,
}

impl Run {
    /// Counts over all targets.
    pub fn total(&self) -> Counts {
        let mut total = Counts::default();
        self.targets.iter().for_each(|target| total.merge(target.total()));
        total
    }
}

impl CaseResult {
    /// Of a case that has ended, or did not run, and took the time `since` then.
    pub(crate) fn new(
        id: &CaseId,
        result: ResultCode,
        detail: Option<String>,
        since: Option<Instant>,
    ) -> Self {
        let time = since.map_or(Duration::ZERO, |since| since.elapsed());
        let microseconds = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        Self {
            id: id.clone(),
            result,
            executed: false,
            detail,
            expected: None,
            failure: None,
            microseconds,
            digest: None,
            errors: vec![],
        }
    }
}

impl DeviceIdentity {
    /// The kind of what executes plans on the host: no driver, and no kernel in SPIR-V.
    pub(crate) const INTERPRETER: &str = "host interpreter";

    /// Whether it is the host interpreter.
    pub fn is_interpreter(&self) -> bool {
        self.kind == Self::INTERPRETER
    }
}

impl TargetRun {
    /// The names of the device, and of the profile and the strategy where there are some.
    pub fn title(&self) -> String {
        let profile = self.profile.as_ref().map(|profile| format!(" as {}", profile.name));
        let strategy = self.strategy.as_ref().map(|strategy| format!(" by {strategy}"));
        [Some(self.device.name.clone()), profile, strategy].into_iter().flatten().collect()
    }

    /// The options that lead to the target again, but for its device, each after a space.
    pub fn options(&self) -> String {
        let sources = self.profile.iter().map(|profile| ("profile", profile.source.as_str()));
        let strategies = self.strategy.iter().map(|strategy| ("strategy", strategy.as_str()));
        let unguarded = self.robust_access.filter(|is_on| !is_on).map(|_| ("robust-access", "off"));
        let given = sources.chain(strategies).chain(unguarded);
        let given = given.filter(|(_, value)| !value.is_empty());
        given.map(|(option, value)| format!(" --{option} {value}")).collect()
    }

    /// Counts for each feature level that has cases.
    pub fn levels(&self) -> BTreeMap<FeatureLevel, Counts> {
        let mut levels = BTreeMap::new();
        self.count(|_, level| level, &mut levels);
        levels
    }

    /// Counts for each operator that has cases, by their names.
    pub fn operators(&self) -> BTreeMap<String, Counts> {
        let mut operators = BTreeMap::new();
        self.count(|operator, _| operator.to_uppercase(), &mut operators);
        operators
    }

    /// The operators of which no case was executed.
    pub fn not_executed(&self) -> Vec<String> {
        let operators = self.operators().into_iter();
        operators.filter(|(_, counts)| counts.executed() == 0).map(|(name, _)| name).collect()
    }

    /// Counts over all levels.
    pub fn total(&self) -> Counts {
        let mut total = BTreeMap::new();
        self.count(|_, _| (), &mut total);
        let mut total = total.remove(&()).unwrap_or_else(|| Counts::on(&self.device));
        total.required_and_not_executed(self.required_and_not_executed().len() as u64);
        total
    }

    /// The operators that have cases at a level, and of which none was executed there or at a lower one.
    pub fn not_executed_at(&self, level: FeatureLevel) -> Vec<String> {
        let mut operators = BTreeMap::new();
        self.count(|operator, at| (at, operator.to_uppercase()), &mut operators);
        let of_level = operators.into_iter().filter(|((at, _), _)| *at == level);
        let idle = of_level.filter(|(_, counts)| counts.executed() == 0);
        idle.map(|((_, operator), _)| operator).collect()
    }

    /// For each operator what passed at a level.
    pub(crate) fn passes_at(&self, level: FeatureLevel) -> BTreeMap<String, Counts> {
        let mut operators = BTreeMap::<_, Counts>::new();
        for Passes { operator, at, cases, executed } in &self.passes {
            if at.levels().contains(&level) {
                let places = at.places_at_a_level();
                let none = || Counts::on(&self.device);
                let counts = operators.entry(operator.clone()).or_insert_with(none);
                counts.passed(places * cases, places * executed);
            }
        }
        operators
    }

    /// The operators that had to be executed and were not.
    pub fn required_and_not_executed(&self) -> Vec<String> {
        let mut names = self.not_executed();
        names.retain(|name| self.required.contains(name));
        names
    }

    /// Counts by what `key` makes of an operator and a level.
    fn count<K: Ord>(
        &self,
        key: impl Fn(&str, FeatureLevel) -> K,
        counts: &mut BTreeMap<K, Counts>,
    ) {
        let mut of = |operator: &str, level, add: &dyn Fn(&mut Counts)| {
            let none = || Counts::on(&self.device);
            add(counts.entry(key(operator, level)).or_insert_with(none));
        };
        for Passes { operator, at, cases, executed } in &self.passes {
            let places = at.places_at_a_level();
            for level in at.levels() {
                of(operator, *level, &|counts| counts.passed(places * cases, places * executed));
            }
        }
        for case in &self.cases {
            of(&case.id.operator, case.id.level, &|counts| counts.add(case.result, case.executed));
        }
    }
}

#[cfg(test)]
pub(crate) mod samples;
