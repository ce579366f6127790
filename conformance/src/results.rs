//! What a run found, as data: the JSON form of a report, and what every other form is made from.

pub(crate) mod block;
mod case;
pub(crate) mod errors;
pub(crate) mod kernels;
mod numerics;
pub mod onnx;
pub(crate) mod tally;
mod target;
mod verdict;

use std::collections::BTreeMap;

use dml::Numerics;
use serde::{Deserialize, Serialize};

use crate::cases::CaseId;

pub use block::Block;
pub use case::{
    CaseError, CaseKernels, CaseResult, Excerpt, Execution, Expected, ExpectedKind, Failure,
    ResultCode,
};
pub use errors::LargestError;
pub use kernels::{KernelUse, OperatorKernels};
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
    /// Whether kernels emulated the optional types that the device has.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub emulated: bool,
    /// The numerics that the device was created with; exact in reports of versions that had no others.
    #[serde(default, with = "numerics")]
    pub numerics: Numerics,
    /// Whether the validation layer was on.
    pub validation: bool,
    /// Whether kernels were kept inside of what is bound (robustBufferAccess); `None` on the host
    /// interpreter, which refuses what is not, and in reports that do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub robust_access: Option<bool>,
    /// Whether every transfer went through a staging buffer, as on most discrete GPUs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub staged_transfers: bool,
    /// The most operations of a dispatch, where another bound than that of the device's type was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_bound: Option<u64>,
    /// Features under Vulkan's names: whether the target offers them.
    pub features: BTreeMap<String, bool>,
    /// Limits under Vulkan's names.
    pub limits: BTreeMap<String, u64>,
    /// What the runtime says about each implemented operator, before anything ran.
    pub support: Vec<Support>,
    /// The largest errors, by operator, data type and what is allowed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<LargestError>,
    /// The kernels that ran and the pipelines that were made of them; `None` in reports of versions that did
    /// not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernels: Option<KernelUse>,
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
    /// How many of those dispatched a kernel; 0 in reports of versions that did not count them.
    #[serde(default)]
    pub dispatched: u64,
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

impl Run {
    /// Counts over all targets.
    pub fn total(&self) -> Counts {
        let mut total = Counts::default();
        self.targets.iter().for_each(|target| total.merge(target.total()));
        total
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

#[cfg(test)]
pub(crate) mod samples;
