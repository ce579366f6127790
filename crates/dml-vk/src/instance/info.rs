//! Who a physical device is.

use std::fmt;

use ash::vk;
use dml_core::capabilities::ApiVersion;

/// What kind of device it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeviceType {
    /// A GPU with its own memory.
    Discrete,
    /// A GPU that shares the host's memory.
    Integrated,
    /// A GPU seen through a virtual machine.
    Virtual,
    /// A driver that runs on the CPU.
    Cpu,
    /// None of these.
    Other,
}

impl DeviceType {
    pub(crate) fn from_vk(kind: vk::PhysicalDeviceType) -> Self {
        match kind {
            vk::PhysicalDeviceType::DISCRETE_GPU => Self::Discrete,
            vk::PhysicalDeviceType::INTEGRATED_GPU => Self::Integrated,
            vk::PhysicalDeviceType::VIRTUAL_GPU => Self::Virtual,
            vk::PhysicalDeviceType::CPU => Self::Cpu,
            _ => Self::Other,
        }
    }
}

impl fmt::Display for DeviceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Discrete => "discrete GPU",
            Self::Integrated => "integrated GPU",
            Self::Virtual => "virtual GPU",
            Self::Cpu => "CPU",
            Self::Other => "other",
        })
    }
}

/// Who a physical device is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceInfo {
    /// The driver's name of the device.
    pub name: String,
    /// PCI vendor, or a Khronos vendor id.
    pub vendor_id: u32,
    /// The vendor's id of the device.
    pub device_id: u32,
    /// What kind of device it is.
    pub device_type: DeviceType,
    /// The version of Vulkan that the device supports, packed as Vulkan packs it.
    pub api_version: u32,
    /// The driver's version, packed as the vendor packs it.
    pub driver_version: u32,
    /// The driver, where the device says so, else 0.
    pub driver_id: vk::DriverId,
    /// The driver's name, where the device says so, else empty.
    pub driver_name: String,
    /// The driver's own words about its version, where the device says so, else empty.
    pub driver_info: String,
    /// Stays the same across processes and instances on one machine.
    pub device_uuid: [u8; 16],
}

impl DeviceInfo {
    /// The UUID as lower-case hexadecimal digits in groups of 8, 4, 4, 4 and 12.
    pub fn device_uuid_text(&self) -> String {
        let mut text = String::with_capacity(36);
        for (index, byte) in self.device_uuid.iter().enumerate() {
            if matches!(index, 4 | 6 | 8 | 10) {
                text.push('-');
            }
            text.push_str(&format!("{byte:02x}"));
        }
        text
    }

    /// The version of Vulkan that the device supports, such as `1.3.230`.
    pub fn api_version_text(&self) -> String {
        version_text(self.api_version)
    }
}

/// A version of Vulkan as Vulkan packs it, for [`crate::InstanceDesc::max_api_version`].
pub fn packed_version(version: ApiVersion) -> u32 {
    vk::make_api_version(0, version.major, version.minor, version.patch)
}

/// A packed version, such as `1.3.230`.
pub(crate) fn version_text(version: u32) -> String {
    let ApiVersion { major, minor, patch } = unpacked_version(version);
    format!("{major}.{minor}.{patch}")
}

pub(crate) fn unpacked_version(version: u32) -> ApiVersion {
    ApiVersion {
        major: vk::api_version_major(version),
        minor: vk::api_version_minor(version),
        patch: vk::api_version_patch(version),
    }
}
