//! The devices that tests run on.

use dml_vk::{Instance, PhysicalDevice};

/// The physical devices that can be used.
///
/// # Panics
///
/// Where there is none, or they cannot be listed: a test that needs a device fails without one.
pub fn usable_devices(instance: &Instance) -> Vec<PhysicalDevice> {
    let mut devices = instance.physical_devices().expect("the loader lists the devices");
    devices.retain(|device| device.unsuitable().is_none());
    assert!(!devices.is_empty(), "no Vulkan device: run these tests with `cargo xtask test`");
    devices
}
