//! Which devices a command runs on.

use anyhow::{Result, ensure};
use dml::vk::ValidationLog;
use dml::{
    Device, DeviceOptions, Instance, InstanceDesc, PhysicalDevice, PipelineCache, Validation,
};
use dml_file::println;

/// The devices that a command runs on.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct DeviceArgs {
    /// A device by a part of its name, its index or its UUID; without it every usable one, one after
    /// the other
    #[arg(long)]
    device: Option<String>,
    /// Run under the Vulkan validation layer; any message breaks a promise
    #[arg(long)]
    validation: bool,
}

/// A physical device, with its own instance.
pub(crate) struct LoadDevice {
    pub(crate) physical: PhysicalDevice,
    pub(crate) instance: Instance,
    /// The device's index among those of the instance.
    pub(crate) index: usize,
    validation: Validation,
}

impl DeviceArgs {
    /// Calls `work` for each device; returns whether every promise held, including that the validation layer
    /// has no message.
    ///
    /// # Errors
    /// Errors of `work`, and an error if there is no device.
    pub(crate) fn each(&self, mut work: impl FnMut(&LoadDevice) -> Result<bool>) -> Result<bool> {
        let mut held = true;
        for index in self.indices()? {
            let instance = self.instance()?;
            let log: ValidationLog = instance.validation_log();
            let physical = instance.physical_devices()?.swap_remove(index);
            println!("{}", physical.info().name);
            let place = LoadDevice { physical, instance, index, validation: self.validation() };
            held &= work(&place)?;
            // Messages while the instance is destroyed count, too.
            drop(place);
            let messages = log.take();
            if self.validation {
                println!("  validation messages: {}", messages.len());
            }
            for message in messages.iter().take(3) {
                println!("  BROKEN: the validation layer says: {message}");
            }
            held &= messages.is_empty();
        }
        Ok(held)
    }

    fn validation(&self) -> Validation {
        if self.validation { Validation::Required } else { Validation::Off }
    }

    fn instance(&self) -> dml::Result<Instance> {
        Ok(Instance::new(&InstanceDesc {
            validation: self.validation(),
            ..InstanceDesc::default()
        })?)
    }

    /// Whether one device was selected.
    pub(crate) fn names_one(&self) -> bool {
        self.device.is_some()
    }

    /// The indices of the selected devices among those of an instance; at least one.
    ///
    /// # Errors
    /// There is no device, or none that matches.
    pub(crate) fn indices(&self) -> Result<Vec<usize>> {
        let instance = self.instance()?;
        let all = instance.physical_devices()?;
        let chosen = match &self.device {
            Some(name) => Some(instance.select(&name.parse()?)?.info().clone()),
            None => None,
        };
        let is_chosen = |it: &PhysicalDevice| match &chosen {
            Some(info) => it.info().device_uuid == info.device_uuid && it.info().name == info.name,
            None => it.unsuitable().is_none(),
        };
        let indices: Vec<usize> = (0..all.len()).filter(|index| is_chosen(&all[*index])).collect();
        ensure!(!indices.is_empty(), "there is no usable Vulkan device");
        Ok(indices)
    }
}

impl LoadDevice {
    /// Opens the device, without access to the user's files.
    ///
    /// # Errors
    /// As [`Device::on_with`].
    pub(crate) fn open(&self) -> dml::Result<Device> {
        Device::on_with(&self.physical, &options())
    }

    /// Opens the device on a new instance, and calls `work` with it.
    ///
    /// # Errors
    /// Errors of opening and of `work`, and an error if the validation layer has a message.
    pub(crate) fn with_own_instance(&self, work: impl FnOnce(Device) -> Result<()>) -> Result<()> {
        let desc = InstanceDesc { validation: self.validation, ..InstanceDesc::default() };
        let instance = Instance::new(&desc)?;
        let log = instance.validation_log();
        let physical = instance.physical_devices()?.swap_remove(self.index);
        drop(instance);
        work(Device::on_with(&physical, &options())?)?;
        drop(physical);
        let messages = log.take();
        ensure!(messages.is_empty(), "the validation layer says: {messages:?}");
        Ok(())
    }
}

/// Options without access to the user's files.
fn options() -> DeviceOptions {
    DeviceOptions { pipeline_cache: PipelineCache::Off, ..DeviceOptions::default() }
}
