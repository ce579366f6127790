//! The results of a run as data: the JSON form of a report, from which every other form is made.

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

/// The version of the JSON form: increased when a member changes its meaning or is removed.
pub const FORMAT: u32 = 2;

/// A whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// [`FORMAT`] of the version that wrote it.
    pub format: u32,
    /// The version of the conformance runner and of the runtime in it.
    pub conformance_version: String,
    /// The selection of cases.
    pub selection: Selection,
    /// The comparison of the devices with each other, if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreement: Option<Agreement>,
    /// One entry for each device under each profile.
    pub targets: Vec<TargetRun>,
}

/// The number of cases with equal results on all targets that are Vulkan devices, except for NaNs and
/// subnormal FLOAT32 numbers. Cases whose results differ have failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agreement {
    /// The cases that passed on more than one target.
    pub compared: u64,
    /// The cases of these whose results are equal on each target.
    pub agreed: u64,
}

/// The selection of a run's cases.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selection {
    /// The feature levels.
    pub levels: Vec<String>,
    /// The glob that ids had to match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// Random cases for each operator, data type and rank.
    pub random: u32,
    /// The seed of the random cases.
    pub seed: u64,
    /// The part of the cases, such as `2/3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<String>,
    /// Whether the ids came from a list.
    #[serde(default)]
    pub case_list: bool,
}

/// The results of one device, under one profile or as it is.
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
    /// Whether kernels could only access bound buffers (robustBufferAccess); `None` on the host interpreter,
    /// which refuses other accesses, and in reports that do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub robust_access: Option<bool>,
    /// Whether every transfer went through a staging buffer, as on most discrete GPUs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub staged_transfers: bool,
    /// The most operations of a dispatch, if another bound than that of the device's type was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_bound: Option<u64>,
    /// The part of the executed cases that ran on the target, such as `1/4`; all of them where `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<String>,
    /// Features under Vulkan's names: whether the target supports them.
    pub features: BTreeMap<String, bool>,
    /// Limits under Vulkan's names.
    pub limits: BTreeMap<String, u64>,
    /// The runtime's answers about each implemented operator, before cases ran.
    pub support: Vec<Support>,
    /// The largest errors, by operator, data type and allowed error.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<LargestError>,
    /// The kernels that ran and the pipelines that were made of them; `None` in reports of versions that did
    /// not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernels: Option<KernelUse>,
    /// The operators that must be executed for the target to be conformant: those with cases that have
    /// outputs, and in a run over all cases every operator.
    #[serde(default)]
    pub required: Vec<String>,
    /// The numbers of cases that passed.
    #[serde(default)]
    pub passes: Vec<Passes>,
    /// Every case that did not pass.
    pub cases: Vec<CaseResult>,
    /// The times of the cases.
    #[serde(default)]
    pub times: Times,
    /// Wall clock of the cases, in seconds.
    pub seconds: f64,
}

/// The identity of a device.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DeviceIdentity {
    /// Its name.
    pub name: String,
    /// The kind, such as `discrete GPU`, `CPU` or `host interpreter`.
    pub kind: String,
    /// PCI vendor, or a Khronos vendor id.
    pub vendor_id: u32,
    /// The vendor's id of the device.
    pub device_id: u32,
    /// The version of Vulkan that it supports, such as `1.3.230`; empty without Vulkan.
    pub api_version: String,
    /// The driver's name.
    pub driver_name: String,
    /// The driver's description of its version.
    pub driver_info: String,
    /// The driver's version, packed as the vendor packs it.
    pub driver_version: u32,
    /// VkDriverId, 0 where unknown.
    pub driver_id: i32,
    /// The UUID, which is equal in all processes on one machine.
    pub uuid: String,
}

/// A profile that a device ran under.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfileRun {
    /// Its name.
    pub name: String,
    /// The text that selects it: its name, or the path of its file.
    #[serde(default)]
    pub source: String,
    /// The device that it stands for, in a line.
    pub about: String,
    /// Profiles with the same effect on this device, which did not run again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// The values that it states and the device cannot represent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shortfalls: Vec<String>,
}

/// An answer of the support query.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Support {
    /// The operator's name.
    pub operator: String,
    /// The signatures and levels that it applies to.
    pub at: Block,
    /// One of `never`, `undocumented`, `needs-level`, `not-implemented`, `emulated`, `native`.
    pub answer: String,
    /// The answer in words, such as `emulated (without shaderInt64: two 32-bit words)`.
    pub text: String,
}

/// The number of cases of an operator that passed, in each of several places.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passes {
    /// The operator's name.
    pub operator: String,
    /// The places: levels, data types and ranks.
    pub at: Block,
    /// The number of cases that passed at each level with each data type and rank.
    pub cases: u64,
    /// The number of these that were executed, at that level or once for several levels at the lowest of them.
    pub executed: u64,
    /// The number of these that dispatched a kernel; 0 in reports of versions that did not count them.
    #[serde(default)]
    pub dispatched: u64,
}

/// The times of cases, in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Times {
    /// The number of cases in each band of times, the shortest first.
    pub bands: Vec<TimeBand>,
    /// The slowest cases, the slowest first.
    pub slowest: Vec<SlowCase>,
}

/// The number of cases that took less than this time, but not less than the band before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeBand {
    /// The end in microseconds; `None` for the last band.
    pub below: Option<u64>,
    /// The number of cases.
    pub cases: u64,
}

/// A slow case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlowCase {
    /// The case.
    pub id: CaseId,
    /// The time in microseconds.
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
    /// The kind of the host interpreter, which runs no driver and no kernel in SPIR-V.
    pub(crate) const INTERPRETER: &str = "host interpreter";

    /// Whether it is the host interpreter.
    pub fn is_interpreter(&self) -> bool {
        self.kind == Self::INTERPRETER
    }
}

#[cfg(test)]
pub(crate) mod samples;
