//! The identity of a physical device.

use std::fmt;

use ash::vk;
use dml_core::capabilities::ApiVersion;
use dml_core::plan::WorkBound;

/// The type of a device, as Vulkan reports it.
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
    /// Any other device.
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

impl DeviceType {
    /// The most work that devices of this type are given at one time, unless the creator of one chooses another bound.
    ///
    /// Estimates, not measurements: exact kernels are taken to do 200 billion operations a second on the slowest
    /// discrete GPUs in use and 40 billion on the slowest integrated ones, which is a tenth of a second for a dispatch
    /// and less than half a second for a batch. A virtual GPU may be a share of one. CPU drivers have no watchdog.
    pub const fn work_bound(self) -> WorkBound {
        match self {
            Self::Cpu => WorkBound::NONE,
            Self::Discrete => WorkBound::of_dispatch(1 << 34),
            Self::Integrated | Self::Virtual | Self::Other => WorkBound::of_dispatch(1 << 32),
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

/// The identity of a physical device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceInfo {
    /// The driver's name of the device.
    pub name: String,
    /// PCI vendor, or a Khronos vendor id.
    pub vendor_id: u32,
    /// The vendor's id of the device.
    pub device_id: u32,
    /// The type of the device.
    pub device_type: DeviceType,
    /// The version of Vulkan that the device supports, packed as Vulkan packs it.
    pub api_version: u32,
    /// The driver's version, packed as the vendor packs it.
    pub driver_version: u32,
    /// The driver if the device reports it, else 0.
    pub driver_id: vk::DriverId,
    /// The driver's name if the device reports it, else empty.
    pub driver_name: String,
    /// The driver's description of its version if the device reports it, else empty.
    pub driver_info: String,
    /// The UUID, which is the same for all processes and instances on one machine.
    pub device_uuid: [u8; 16],
}

impl DeviceInfo {
    /// The UUID as lower-case hexadecimal digits in groups of 8, 4, 4, 4 and 12.
    pub fn device_uuid_text(&self) -> String {
        uuid_text(&self.device_uuid)
    }

    /// The order in which devices are preferred: a program that selects none gets the device with the least
    /// value. Discrete GPUs come before integrated and virtual ones, these before drivers that run on the
    /// CPU, and other devices come last. Of the drivers on the CPU, lavapipe comes first and SwiftShader
    /// last: lavapipe takes less than half of SwiftShader's time for large matrix products.
    pub fn preference(&self) -> impl Ord + use<> {
        let driver = match self.driver_id {
            vk::DriverId::MESA_LLVMPIPE => 0,
            vk::DriverId::GOOGLE_SWIFTSHADER => 2,
            _ => 1,
        };
        let is_cpu = self.device_type == DeviceType::Cpu;
        (self.device_type, if is_cpu { driver } else { 0 })
    }

    /// The version of Vulkan that the device supports, such as `1.3.230`.
    pub fn api_version_text(&self) -> String {
        version_text(self.api_version)
    }
}

pub(crate) fn uuid_text(uuid: &[u8; 16]) -> String {
    let mut text = String::with_capacity(36);
    for (index, byte) in uuid.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
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

#[cfg(test)]
mod tests {
    use super::*;

    fn device(device_type: DeviceType, driver_id: vk::DriverId) -> DeviceInfo {
        DeviceInfo {
            name: String::new(),
            vendor_id: 0,
            device_id: 0,
            device_type,
            api_version: 0,
            driver_version: 0,
            driver_id,
            driver_name: String::new(),
            driver_info: String::new(),
            device_uuid: [0; 16],
        }
    }

    #[test]
    fn gpus_are_preferred_to_cpus_and_lavapipe_to_swiftshader() {
        let unknown = vk::DriverId::from_raw(0);
        let ordered = [
            (DeviceType::Discrete, unknown),
            (DeviceType::Integrated, unknown),
            (DeviceType::Virtual, unknown),
            (DeviceType::Cpu, vk::DriverId::MESA_LLVMPIPE),
            (DeviceType::Cpu, unknown),
            (DeviceType::Cpu, vk::DriverId::GOOGLE_SWIFTSHADER),
            (DeviceType::Other, unknown),
        ];
        let ordered = ordered.map(|(device_type, driver)| device(device_type, driver).preference());
        assert!(ordered.is_sorted_by(|before, after| before < after));
    }

    #[test]
    fn the_driver_of_a_gpu_does_not_matter() {
        let of = |driver| device(DeviceType::Discrete, driver).preference();
        assert!(of(vk::DriverId::MESA_RADV) == of(vk::DriverId::NVIDIA_PROPRIETARY));
    }
}
