//! Physical devices: enumeration, and whether they can be used.

use std::collections::HashSet;
use std::ffi::{CStr, CString};
use std::fmt;
use std::sync::Arc;

use ash::vk;
use dml_core::capabilities::{
    CapResult, Capabilities, CapabilityCap, Feature, Features, Limit, REQUIRED_STORAGE_BUFFERS,
    Shortfall,
};
use dml_core::plan::MAX_UNIFORM_BYTES;

use crate::error::{Error, Result, VkContext};
use crate::instance::InstanceShared;
use crate::instance::capabilities::{self, DeviceAnswers};
use crate::instance::features::known;
use crate::instance::info::{DeviceInfo, packed_version, unpacked_version};
use crate::instance::queues::{self, QueueChoice};

/// A device that the loader lists.
#[derive(Clone)]
pub struct PhysicalDevice {
    pub(crate) instance: Arc<InstanceShared>,
    pub(crate) handle: vk::PhysicalDevice,
    pub(crate) extensions: Arc<HashSet<CString>>,
    info: Arc<DeviceInfo>,
    capabilities: Arc<Capabilities>,
    pub(crate) non_coherent_atom_size: u64,
    families: Arc<[vk::QueueFamilyProperties]>,
    /// The one of `families` that the caller had chosen already.
    own_family: Option<u32>,
    unusable: Option<Unusable>,
}

/// The reason why a device cannot be used, and the error of an attempt to use it.
#[derive(Clone)]
struct Unusable {
    reason: String,
    error: Error,
}

impl PhysicalDevice {
    /// Queries the device. A device whose driver fails cannot be used, but does not affect the others.
    pub(crate) fn query(instance: &Arc<InstanceShared>, handle: vk::PhysicalDevice) -> Self {
        Self::query_with(instance, handle, None, |families, found| {
            check_answers(found)?;
            check_timeline(found)?;
            queues::choose(families, QueueChoice::First).map(|_| ())
        })
    }

    /// Queries the device for use with a caller's queue of `family`. Timeline semaphores are needed if the
    /// crate submits to that queue.
    pub(crate) fn query_for_family(
        instance: &Arc<InstanceShared>,
        handle: vk::PhysicalDevice,
        family: u32,
        submits: bool,
    ) -> Self {
        Self::query_with(instance, handle, Some(family), |families, found| {
            check_answers(found)?;
            if submits {
                check_timeline(found)?;
            }
            queues::of_caller(families, family).map(|_| ())
        })
    }

    fn query_with(
        instance: &Arc<InstanceShared>,
        handle: vk::PhysicalDevice,
        own_family: Option<u32>,
        check: impl Fn(&[vk::QueueFamilyProperties], &DeviceAnswers) -> Result<(), String>,
    ) -> Self {
        let (extensions, failure) = match extensions(instance, handle) {
            Ok(extensions) => (extensions, None),
            Err(error) => (HashSet::new(), Some(error)),
        };
        let source = capabilities::Source { instance, handle, extensions: &extensions };
        let found = source.query();
        let families = if failure.is_some() { vec![] } else { families(&source) };
        let lacking = |reason: String| {
            let error = Error::unsupported(found.info.name.clone(), reason.clone());
            Unusable { reason, error }
        };
        let unusable = match failure {
            Some(error) => Some(Unusable { reason: error.to_string(), error }),
            None => check(&families, &found).err().map(lacking),
        };
        Self {
            instance: Arc::clone(instance),
            handle,
            extensions: Arc::new(extensions),
            info: Arc::new(found.info),
            capabilities: Arc::new(found.capabilities),
            non_coherent_atom_size: found.non_coherent_atom_size,
            families: families.into(),
            own_family,
            unusable,
        }
    }

    /// Whether the validation layer is known to check the device's use.
    pub(crate) fn is_validated(&self) -> bool {
        self.instance.validated
    }

    /// The device's identity.
    pub fn info(&self) -> &DeviceInfo {
        &self.info
    }

    /// The device's limits and the optional features that it supports. [`PhysicalDevice::enablement`] tells
    /// which of them a [`crate::Device`] enables.
    pub fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    /// The device's limits and features under `cap`, and the shortfalls: values that `cap` states and the
    /// device lacks.
    pub fn capped(&self, cap: &CapabilityCap) -> (Capabilities, Vec<Shortfall>) {
        let mut host = Capabilities::clone(&self.capabilities);
        let version = cap.api_version().map_or(u32::MAX, packed_version);
        // An extension gives a feature to a device whose core is too old for it.
        let known = known(version.min(self.usable_version()), &self.extensions);
        host.features = host.features.and(known);
        let CapResult { capabilities, shortfalls } = cap.apply(&host);
        let version = cap.api_version_shortfall(unpacked_version(self.info.api_version));
        (capabilities, version.into_iter().chain(shortfalls).collect())
    }

    /// The reason why this crate cannot use the device; `None` if it can.
    pub fn unsuitable(&self) -> Option<&str> {
        self.unusable.as_ref().map(|unusable| unusable.reason.as_str())
    }

    /// Fails if the device cannot be used.
    pub(crate) fn check_usable(&self) -> Result<()> {
        self.unusable.as_ref().map_or(Ok(()), |unusable| Err(unusable.error.clone()))
    }

    /// The queue family that a device uses: a caller's own, or the chosen one. Fails if the device cannot be used,
    /// or not with that family.
    pub(crate) fn queue_family(&self, choice: QueueChoice) -> Result<u32> {
        self.check_usable()?;
        let choice = self.own_family.map_or(choice, QueueChoice::Family);
        queues::choose(&self.families, choice).map_err(|problem| Error::invalid("queue", problem))
    }

    /// The version of Vulkan that may be used with it: at most the version that the instance asked for.
    pub(crate) fn usable_version(&self) -> u32 {
        self.info.api_version.min(self.instance.api_version)
    }

    pub(crate) fn has_extension(&self, name: &CStr) -> bool {
        self.extensions.contains(name)
    }

    /// The VkPhysicalDevice.
    pub fn raw(&self) -> vk::PhysicalDevice {
        self.handle
    }
}

impl fmt::Debug for PhysicalDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PhysicalDevice")
            .field("info", &self.info)
            .field("unsuitable", &self.unsuitable())
            .finish_non_exhaustive()
    }
}

fn extensions(instance: &InstanceShared, handle: vk::PhysicalDevice) -> Result<HashSet<CString>> {
    let core = instance.table.core();
    // SAFETY: the handle was enumerated from this instance, which is alive.
    let offered = unsafe { core.enumerate_device_extension_properties(handle) }
        .call("vkEnumerateDeviceExtensionProperties")?;
    Ok(offered
        .iter()
        .filter_map(|extension| extension.extension_name_as_c_str().ok())
        .map(CStr::to_owned)
        .collect())
}

fn check_answers(found: &DeviceAnswers) -> Result<(), String> {
    if found.info.api_version < vk::API_VERSION_1_1 {
        return Err("it supports Vulkan 1.0, 1.1 is needed".to_owned());
    }
    let limits = &found.capabilities.limits;
    for limit in [Limit::MinStorageBufferOffsetAlignment, Limit::MinUniformBufferOffsetAlignment] {
        let alignment = limits.get(limit);
        if !alignment.is_power_of_two() || alignment > 256 {
            let name = limit.name();
            return Err(format!("its {name} is {alignment}, Vulkan has powers of two up to 256"));
        }
    }
    for (limit, needed) in [
        (Limit::MaxUniformBufferRange, MAX_UNIFORM_BYTES),
        (Limit::MaxPerStageDescriptorUniformBuffers, 1),
        (Limit::MaxPerStageDescriptorStorageBuffers, REQUIRED_STORAGE_BUFFERS.into()),
    ] {
        let available = limits.get(limit);
        if available < needed {
            return Err(format!("its {} is {available}, {needed} is needed", limit.name()));
        }
    }
    Ok(())
}

fn check_timeline(found: &DeviceAnswers) -> Result<(), String> {
    match lacks_timeline(found.capabilities.features) {
        Some(reason) => Err(format!("it has {reason}")),
        None => Ok(()),
    }
}

/// The feature that a submitting device lacks, if these are its features.
pub(crate) fn lacks_timeline(features: Features) -> Option<&'static str> {
    let has = features.has(Feature::TimelineSemaphore);
    (!has).then_some("no timeline semaphores (neither Vulkan 1.2 nor VK_KHR_timeline_semaphore)")
}

fn families(source: &capabilities::Source<'_>) -> Vec<vk::QueueFamilyProperties> {
    let core = source.instance.table.core();
    // SAFETY: the handle was enumerated from this instance, which is alive.
    unsafe { core.get_physical_device_queue_family_properties(source.handle) }
}
