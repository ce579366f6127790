//! The ways in which a program uses the runtime, from opening a device to dropping everything.

use std::num::NonZeroUsize;
use std::path::Path;

use anyhow::Context as _;
use dml::vk::{DeviceDesc, DeviceSelector, Instance, InstanceDesc, ValidationLog};
use dml::{Device, DeviceOptions, Validation};
use dml_fault::{Caller, Injector};

use super::answer::Answer;
use super::request;

/// A way to use the runtime.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    mode: Mode,
    /// Whether compiled pipelines are kept, which opens the device twice.
    cached: bool,
    /// Whether every transfer is staged.
    staged: bool,
    /// Whether Vulkan 1.1 is all there is.
    old: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    Own,
    /// The caller's device, which records only.
    Record,
    /// The caller's device and queue.
    Submit,
}

pub(crate) const SCENARIOS: [Scenario; 6] = [
    Scenario { name: "owning", mode: Mode::Own, cached: false, staged: false, old: false },
    Scenario { name: "cached", mode: Mode::Own, cached: true, staged: false, old: false },
    Scenario { name: "staged", mode: Mode::Own, cached: false, staged: true, old: false },
    Scenario { name: "vulkan-1.1", mode: Mode::Own, cached: false, staged: false, old: true },
    Scenario { name: "recording", mode: Mode::Record, cached: false, staged: false, old: false },
    Scenario { name: "submitting", mode: Mode::Submit, cached: false, staged: false, old: false },
];

impl Scenario {
    /// The scenario of that name.
    pub(crate) fn named(name: &str) -> anyhow::Result<Self> {
        let found = SCENARIOS.into_iter().find(|it| it.name == name);
        let accepted = SCENARIOS.map(|it| it.name).join(", ");
        found.with_context(|| format!("there is no scenario {name:?}; accepted are {accepted}"))
    }
}

/// Where and with what a scenario runs.
pub(crate) struct ScenarioContext<'a> {
    pub(crate) scenario: Scenario,
    pub(crate) device_name: &'a str,
    pub(crate) injector: &'a Injector,
    /// Where compiled pipelines are kept; empty at first.
    pub(crate) folder: &'a Path,
}

/// A device with what it stands on. Fields are dropped in their order.
pub(crate) struct OpenDevice {
    pub(crate) device: Device,
    caller: Option<Caller>,
}

impl OpenDevice {
    /// Asks for everything.
    pub(crate) fn request(&self) -> Answer {
        match &self.caller {
            Some(caller) if self.device.vulkan().timeline_semaphore().is_none() => {
                request::record(caller, &self.device)
            }
            Some(caller) => {
                request::record(caller, &self.device)?;
                request::execute(&self.device)
            }
            None => request::execute(&self.device),
        }
    }
}

impl ScenarioContext<'_> {
    /// How often the scenario opens a device.
    pub(crate) fn rounds(&self) -> usize {
        if self.scenario.cached { 2 } else { 1 }
    }

    /// Opens the device. The validation messages go to `logs`.
    pub(crate) fn open(&self, logs: &mut Vec<ValidationLog>) -> dml::Result<OpenDevice> {
        let desc = DeviceDesc {
            always_stage: self.scenario.staged,
            pipeline_cache: self.scenario.cached.then(|| self.folder.to_path_buf()),
            // The n-th call is the same every time.
            compile_threads: Some(NonZeroUsize::MIN),
            ..DeviceDesc::default()
        };
        let options = DeviceOptions::default();
        let with_queue = self.scenario.mode == Mode::Submit;
        let selector = DeviceSelector::Name(self.device_name.to_owned());
        if self.scenario.mode != Mode::Own {
            let caller = Caller::new(&selector, Validation::Off)?;
            logs.push(caller.validation_log());
            let vulkan = caller.wrap(self.injector.entry_points(), with_queue, &desc)?;
            let device = Device::from_vulkan(vulkan, &options)?;
            return Ok(OpenDevice { device, caller: Some(caller) });
        }
        let required = super::validation_required();
        let instance = Instance::new(&InstanceDesc {
            validation: if required { Validation::Required } else { Validation::Off },
            entry_points: self.injector.entry_points(),
            max_api_version: self.scenario.old.then_some(dml::ash::vk::API_VERSION_1_1),
        })?;
        logs.push(instance.validation_log());
        let vulkan = dml::vk::Device::with_desc(&instance.select(&selector)?, &desc)?;
        // As sessions of models do, which bound what they keep.
        vulkan.device_heap();
        Ok(OpenDevice { device: Device::from_vulkan(vulkan, &options)?, caller: None })
    }
}
