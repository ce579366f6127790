//! The extensions and features to enable on a device, whether this crate or the caller creates it.

use std::ffi::CStr;

use ash::{khr, vk};
use dml_core::capabilities::{Enabling, Feature, Features};

use crate::device::desc::DeviceDesc;
use crate::device::usable_version;
use crate::instance::features::{FeatureStructures, is_core};
use crate::instance::physical::PhysicalDevice;

/// The extensions and features to enable on a device so that kernels can use all optional features. Only
/// timelineSemaphore is required, and only if the device submits.
///
/// A caller that creates the device may leave out any of them: [`crate::RawDeviceDesc`] states what is enabled, and
/// nothing else is used.
#[derive(Clone, Debug)]
pub struct Enablement {
    /// The device extensions, for VkDeviceCreateInfo::ppEnabledExtensionNames.
    pub extensions: Vec<&'static CStr>,
    /// The features, for [`crate::RawDeviceDesc::features`]. Features that are properties of the device have
    /// only an extension to enable.
    pub features: Features,
    structures: FeatureStructures,
}

impl Enablement {
    /// `features` as a chain of Vulkan's structures, for VkDeviceCreateInfo::pNext; pEnabledFeatures must be
    /// null then. It is VkPhysicalDeviceFeatures2, and the structures of single extensions. A program that
    /// has one of these in its own chain, or VkPhysicalDeviceVulkan12Features, sets the members there
    /// instead, by the names that [`Feature::name`] gives.
    pub fn chain(&mut self) -> vk::PhysicalDeviceFeatures2<'_> {
        self.structures = FeatureStructures::enabling(self.features);
        self.structures.chain(self.features)
    }
}

/// A feature of `features` that must not be enabled without another one that is missing, and that other one:
/// vulkanMemoryModel alone forbids atomics of device scope, which kernels use.
pub(crate) fn alone(features: Features) -> Option<(Feature, Feature)> {
    let pair = (Feature::VulkanMemoryModel, Feature::VulkanMemoryModelDeviceScope);
    (features.has(pair.0) && !features.has(pair.1)).then_some(pair)
}

impl PhysicalDevice {
    /// The extensions and features that a [`crate::Device`] with this `desc` enables: every supported feature
    /// that kernels may use, under the cap; robustBufferAccess unless `desc` says otherwise;
    /// timelineSemaphore. For programs that create their device themselves.
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
        // If a device supports this extension, Vulkan requires that it is enabled.
        if self.has_extension(khr::portability_subset::NAME) {
            extensions.push(khr::portability_subset::NAME);
        }
        Enablement { extensions, features, structures: FeatureStructures::default() }
    }
}
