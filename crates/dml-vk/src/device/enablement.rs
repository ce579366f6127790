//! What is enabled on a device: by this crate where it creates one, by callers where they do.

use std::ffi::CStr;

use ash::{khr, vk};
use dml_core::capabilities::{Enabling, Feature, Features};

use crate::device::{DeviceDesc, usable_version};
use crate::instance::features::{FeatureStructures, is_core};
use crate::instance::physical::PhysicalDevice;

/// The extensions and features to enable on a device so that this crate can use all that its kernels may
/// make use of. Nothing of it is needed but timelineSemaphore, where the device is to submit.
///
/// Whoever creates a device by themselves may leave any of it out: what was enabled is stated in
/// [`crate::RawDeviceDesc`], and nothing else is used.
#[derive(Clone, Debug)]
pub struct Enablement {
    /// The device extensions, for VkDeviceCreateInfo::ppEnabledExtensionNames.
    pub extensions: Vec<&'static CStr>,
    /// The features, for [`crate::RawDeviceDesc::features`]. Those that are properties of the device have
    /// nothing to enable but their extension.
    pub features: Features,
    structures: FeatureStructures,
}

impl Enablement {
    /// `features` as a chain of Vulkan's structures, for VkDeviceCreateInfo::pNext; pEnabledFeatures is
    /// null then. It is VkPhysicalDeviceFeatures2, and the structures of single extensions: a program that
    /// has one of these in a chain of its own, or VkPhysicalDeviceVulkan12Features, sets the members there
    /// instead, by the names that [`Feature::name`] gives.
    pub fn chain(&mut self) -> vk::PhysicalDeviceFeatures2<'_> {
        self.structures = FeatureStructures::enabling(self.features);
        self.structures.chain(self.features)
    }
}

/// A feature that must not be enabled without another, and that other, where `features` are enabled:
/// vulkanMemoryModel alone forbids atomics of device scope, which kernels have.
pub(crate) fn alone(features: Features) -> Option<(Feature, Feature)> {
    let pair = (Feature::VulkanMemoryModel, Feature::VulkanMemoryModelDeviceScope);
    (features.has(pair.0) && !features.has(pair.1)).then_some(pair)
}

impl PhysicalDevice {
    /// What a [`crate::Device`] with this `desc` enables of what the device offers: every feature that
    /// kernels may use, under the cap; robustBufferAccess unless `desc` says otherwise; timelineSemaphore.
    /// To be enabled by a program that creates its device by itself.
    pub fn enablement(&self, desc: &DeviceDesc) -> Enablement {
        let (offered, _) = self.capped(&desc.cap);
        let is_wanted = |it: &Feature| match it.enabling() {
            Enabling::Always | Enabling::WhereOffered => true,
            Enabling::ByChoice => !desc.without_robust_access,
        };
        let features = offered.features.iter().filter(is_wanted).collect();
        let features = match alone(features) {
            Some((feature, _)) => features.with(feature, false),
            None => features,
        };
        let version = usable_version(self, desc);
        let mut extensions = Vec::new();
        for extension in features.iter().filter_map(Feature::extension) {
            if !is_core(extension, version) && !extensions.contains(&extension.name) {
                extensions.push(extension.name);
            }
        }
        // Where a device offers this, Vulkan demands that it is enabled.
        if self.has_extension(khr::portability_subset::NAME) {
            extensions.push(khr::portability_subset::NAME);
        }
        Enablement { extensions, features, structures: FeatureStructures::default() }
    }
}
