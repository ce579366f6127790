//! The devices that plans are made for.

use anyhow::{Context as _, Result};
use dml::Device;
use dml::core::{Capabilities, Tuning};
use dml::ops::{Target, TransferUse};
use dml::vk::DeviceType;

/// Large and discrete; small and integrated. Each is one of `dml::profiles`.
const DEVICES: [(&str, &str, DeviceType); 2] = [
    ("rx-7800-xt", "amd-radeon-rx-7800-xt-radv-navi32-24-0-99-arch", DeviceType::Discrete),
    ("uhd-620", "intel-uhd-graphics-620-0-404-2125-windows-10", DeviceType::Integrated),
];

/// A device without the device: what it can do, and how the runtime would use it.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The name in the table.
    pub name: String,
    /// Its limits, and the features that it offers.
    pub capabilities: Capabilities,
    /// The preferences of devices of its type.
    pub tuning: Tuning,
}

impl Profile {
    /// The target of plans.
    pub fn target(&self) -> Target<'_> {
        let Self { capabilities, tuning, .. } = self;
        Target { capabilities, tuning: *tuning, transfer: TransferUse::Allowed }
    }
}

impl From<&Device> for Profile {
    fn from(device: &Device) -> Self {
        Self {
            name: device.vulkan().info().name.clone(),
            capabilities: device.capabilities().clone(),
            tuning: device.tuning(),
        }
    }
}

/// The devices of the table, in its order.
///
/// # Errors
/// A profile is missing or wrong.
pub fn profiles() -> Result<Vec<Profile>> {
    let profile = |(name, file, device_type)| {
        let found = dml::profiles::find(file).with_context(|| format!("the profile of {name}"))?;
        let tuning = dml::tuning_for(device_type);
        Ok(Profile { name: String::from(name), capabilities: found.cap.alone(), tuning })
    };
    DEVICES.into_iter().map(profile).collect()
}
