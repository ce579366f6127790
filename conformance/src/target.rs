//! Targets: a Vulkan device or the host interpreter, as it is or under a profile.

mod groups;
mod survey;

use std::sync::{Mutex, PoisonError};

use anyhow::Context as _;
use dml::core::capabilities::{Features, Limit};
use dml::core::kernel::Feature;
use dml::core::{Capabilities, Strategy, Tuning};
use dml::profiles::{self, Profile};
use dml::{
    CapabilityCap, Device, DeviceOptions, FeatureLevel, Instance, InstanceDesc, Numerics,
    PipelineCache, Validation, WorkBound, support,
};
use dml_ops::{NativeTypes, TransferUse};
use dml_reference::{Reference, Signature};
use serde::{Deserialize, Serialize};

use crate::cases::Kind;
use crate::execute::{DeviceExecutor, Executor, Interpreter, Lowering};
use crate::results::{Block, DeviceIdentity, ProfileRun, Support, TargetRun, Times};
use crate::selection::Shard;

pub use survey::{Devices, Profiles, Survey};

/// One target, as [`Survey::targets`] found it. Any process can open it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Target {
    /// The device or its replacement, its profile, strategy, features and limits; without results.
    pub run: TargetRun,
    place: TargetLocation,
}

/// The options for opening devices, beside their profile.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Opening {
    /// Whether the validation layer is on.
    pub validation: bool,
    /// Whether kernels can only access bound buffers (robustBufferAccess); `None` for the value of the
    /// environment variable `DML_ROBUST_ACCESS`.
    pub robust_access: Option<bool>,
    /// Whether every transfer goes through a staging buffer; `None` for the value of the environment variable
    /// `DML_STAGED_TRANSFERS`.
    pub staged_transfers: Option<bool>,
    /// The most operations of a dispatch ([`WorkBound::of_dispatch`]); what the environment variable
    /// `DML_WORK_BOUND` says where `None`, and without that the bound of the device's type.
    pub work_bound: Option<u64>,
}

/// The way to open a target.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum TargetLocation {
    Device {
        /// The text of a `DeviceSelector`.
        selector: String,
    },
    Interpreter,
}

impl Target {
    fn new(
        device: DeviceIdentity,
        profile: Option<ProfileRun>,
        capabilities: &Capabilities,
        place: TargetLocation,
        opened: Opening,
    ) -> Self {
        let features = Feature::ALL
            .into_iter()
            .map(|feature| (feature.name().to_owned(), capabilities.features.has(feature)));
        let limits = Limit::ALL
            .into_iter()
            .map(|limit| (limit.name().to_owned(), capabilities.limits.get(limit)));
        let (features, limits) = (features.collect(), limits.collect());
        let run = TargetRun {
            device,
            profile,
            strategy: None,
            emulated: false,
            numerics: Numerics::Exact,
            validation: opened.validation,
            robust_access: opened.robust_access,
            staged_transfers: opened.staged_transfers == Some(true),
            work_bound: opened.work_bound,
            sample: None,
            features,
            limits,
            support: Vec::new(),
            errors: vec![],
            kernels: None,
            required: vec![],
            passes: vec![],
            cases: vec![],
            times: Times::default(),
            seconds: 0.0,
        };
        Self { run, place }
    }

    /// The target with `strategy` used wherever it can serve.
    pub fn with_strategy(mut self, strategy: Strategy) -> Self {
        self.run.strategy = Some(strategy.to_string());
        self
    }

    /// The target with kernels that emulate every optional type; `None` if no kernel would differ.
    pub fn with_emulated_types(mut self) -> Option<Self> {
        let has = |feature: &Feature| self.run.features.get(feature.name()) == Some(&true);
        let features = Feature::ALL.into_iter().filter(has).collect();
        self.run.emulated = true;
        (NativeTypes::of(features) != NativeTypes::NONE).then_some(self)
    }

    /// The target, created with these numerics.
    pub fn with_numerics(mut self, numerics: Numerics) -> Self {
        self.run.numerics = numerics;
        self
    }

    /// The target, on which this part of the cases is run.
    pub fn with_sample(mut self, part: Shard) -> Self {
        self.run.sample = Some(part.to_string());
        self
    }

    /// The names of the device, and of the profile and the strategy if there are some.
    pub fn title(&self) -> String {
        self.run.title()
    }

    /// The tuning for the target: `own`, with the requested numerics and strategy.
    fn tuning(&self, own: Tuning) -> anyhow::Result<Tuning> {
        let own = own.with_numerics(self.run.numerics);
        let own = self.run.work_bound.map_or(own, |bound| own.with_dispatch_bound(bound));
        let own = if self.run.emulated { own.without_native_types() } else { own };
        Ok(match &self.run.strategy {
            Some(strategy) => own.with_strategy(strategy.parse()?),
            None => own,
        })
    }

    /// Whether it can run cases of this kind: the host interpreter has no bindings that could be refused.
    pub fn can_run(&self, kind: Kind) -> bool {
        matches!(self.place, TargetLocation::Device { .. }) || kind != Kind::Binding
    }

    /// Opens it. With a `lowering` its plans are executed, otherwise the runtime's.
    ///
    /// # Errors
    /// The device does not exist any more or cannot be opened, or the profile is missing.
    pub fn open<'a>(
        &self,
        lowering: Option<&'a dyn Lowering>,
    ) -> anyhow::Result<Box<dyn Executor + 'a>> {
        if let Some((instance, device)) = self.device()? {
            return Ok(Box::new(DeviceExecutor::new(instance, device, lowering)));
        }
        let (cap, tuning) = (self.cap()?, self.tuning(Tuning::new())?);
        let transfer =
            if cap.no_transfer_usage() { TransferUse::StorageOnly } else { TransferUse::Allowed };
        Ok(Box::new(Interpreter::new(&cap.alone(), transfer, lowering).with_tuning(tuning)))
    }

    /// Opens it if it is a Vulkan device.
    ///
    /// # Errors
    /// As [`Target::open`].
    pub fn device(&self) -> anyhow::Result<Option<(Instance, Device)>> {
        let TargetLocation::Device { selector } = &self.place else { return Ok(None) };
        let TargetRun { validation, robust_access, staged_transfers, work_bound, .. } = self.run;
        let staged_transfers = Some(staged_transfers);
        let opening = Opening { validation, robust_access, staged_transfers, work_bound };
        let options = opening.options(selector.parse()?, self.cap()?)?;
        let options = DeviceOptions { numerics: self.run.numerics, ..options };
        let instance = Instance::new(&options.instance)?;
        let physical = instance.select(&options.selector)?;
        let device = Device::on_with(&physical, &options)
            .with_context(|| format!("cannot open {}", self.title()))?;
        let tuning = self.tuning(device.tuning())?;
        Ok(Some((instance, device.with_tuning(tuning))))
    }

    fn cap(&self) -> anyhow::Result<CapabilityCap> {
        Ok(match &self.run.profile {
            Some(profile) => profiles::find(&profile.source)?.cap,
            None => CapabilityCap::NONE,
        })
    }

    /// The runtime's answers about each implemented operator at `levels`.
    pub fn support(&self, levels: &[FeatureLevel]) -> Vec<Support> {
        let has = |feature: &Feature| self.run.features.get(feature.name()) == Some(&true);
        let features = Feature::ALL.into_iter().filter(has);
        let features = features.fold(Features::NONE, |all, it| all.with(it, true));
        let is_same = |it: &&Answered| it.features == features && it.levels == levels;
        let answered = || ANSWERED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = answered().iter().find(is_same) {
            return known.answers.clone();
        }
        let new = Answered::of(features, levels);
        let answers = new.answers.clone();
        answered().push(new);
        answers
    }
}

/// The runtime's answers about each implemented operator, for devices with some features.
struct Answered {
    features: Features,
    levels: Vec<FeatureLevel>,
    answers: Vec<Support>,
}

/// Answers that a target got. Many targets have the same features, and to answer, every operator is planned with
/// every combination of types.
static ANSWERED: Mutex<Vec<Answered>> = Mutex::new(Vec::new());

impl Answered {
    fn of(features: Features, levels: &[FeatureLevel]) -> Self {
        let device = Capabilities { features, ..Capabilities::vulkan_minimum() };
        let of_operator = |reference: &&'static dyn Reference| {
            let name = reference.schema().name;
            let mut answers = Vec::new();
            for signature in Signature::all(reference.schema()) {
                let minimal = reference.minimal(&signature);
                for level in levels {
                    let answer = support::query_tensors(&minimal, *level, &device);
                    let answer = (answer.name(), answer.to_string());
                    answers.push(((*level, signature.clone()), answer));
                }
            }
            Block::group(answers).into_iter().map(move |(at, (answer, text))| Support {
                operator: name.to_owned(),
                at,
                answer: answer.to_owned(),
                text,
            })
        };
        let answers = dml_reference::REFERENCES.iter().flat_map(of_operator).collect();
        Self { features, levels: levels.to_vec(), answers }
    }
}

impl Opening {
    fn instance(self) -> InstanceDesc {
        let validation = if self.validation { Validation::Required } else { Validation::Off };
        InstanceDesc { validation, ..InstanceDesc::default() }
    }

    fn options(
        self,
        selector: dml::DeviceSelector,
        cap: CapabilityCap,
    ) -> anyhow::Result<DeviceOptions> {
        let options = DeviceOptions {
            selector,
            cap: Some(cap),
            instance: self.instance(),
            robust_access: self.robust_access,
            staged_transfers: self.staged_transfers,
            work_bound: self.work_bound.map(WorkBound::of_dispatch),
            // Test the driver's present compiler, not pipelines that it once compiled.
            pipeline_cache: PipelineCache::Off,
            ..DeviceOptions::default()
        };
        Ok(options.resolved()?)
    }
}

fn profile_run(source: &str, profile: &Profile) -> ProfileRun {
    ProfileRun {
        name: profile.name.clone(),
        source: source.to_owned(),
        about: profile.about(),
        also: Vec::new(),
        shortfalls: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_opened_as_it_was_found() {
        let options = |robust_access| {
            let opening = Opening { validation: true, robust_access, ..Opening::default() };
            opening.options(dml::DeviceSelector::Best, CapabilityCap::NONE).unwrap()
        };
        for is_on in [true, false] {
            let options = options(Some(is_on));
            assert_eq!(options.robust_access, Some(is_on));
            assert_eq!(options.instance.validation, Validation::Required);
        }
        // The environment decides, once.
        assert!(options(None).robust_access.is_some());
    }
}
