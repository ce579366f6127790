//! Every device of the machine, with a check that the validation layer had nothing to say.

#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

pub(crate) mod band;

use dml::{
    CapabilityCap, Device, DeviceOptions, Instance, InstanceDesc, PhysicalDevice, PipelineCache,
    Validation,
};

/// Set by `cargo xtask test`: tests then run under the validation layer or fail.
pub(crate) fn validation() -> Validation {
    match std::env::var("DML_TEST_VALIDATION").as_deref() {
        Ok("required") => Validation::Required,
        _ => Validation::Off,
    }
}

/// The default, but for the user's folders: tests neither read nor write there.
pub(crate) fn options() -> DeviceOptions {
    DeviceOptions { pipeline_cache: PipelineCache::Off, ..DeviceOptions::default() }
}

/// Runs `test` on every device, and fails on any validation message.
pub(crate) fn on_every_device(test: impl Fn(&Device)) {
    let desc = InstanceDesc { validation: validation(), ..InstanceDesc::default() };
    let instance = Instance::new(&desc).expect("a Vulkan loader; run `cargo xtask test`");
    let devices = instance.physical_devices().unwrap();
    let usable: Vec<PhysicalDevice> =
        devices.into_iter().filter(|device| device.unsuitable().is_none()).collect();
    assert!(!usable.is_empty(), "there is no Vulkan device; run `cargo xtask test`");
    for physical_device in usable {
        let name = &physical_device.info().name;
        let device = Device::on_with(&physical_device, &options()).unwrap();
        test(&device);
        drop(device);
        let messages = instance.take_validation_messages();
        assert!(messages.is_empty(), "{name}: {messages:#?}");
    }
}

/// Runs `test` on every device under the cap, and fails on any validation message.
pub(crate) fn on_every_device_under(cap: CapabilityCap, test: impl Fn(&Device)) {
    let instance = InstanceDesc { validation: validation(), ..InstanceDesc::default() };
    let options = DeviceOptions { cap: Some(cap), instance, ..options() };
    let options = options.resolved().unwrap();
    let instance = Instance::new(&options.instance).expect("a Vulkan loader");
    let mut tested = 0;
    for physical in instance.physical_devices().unwrap() {
        if physical.unsuitable().is_some() {
            continue;
        }
        let device = Device::on_with(&physical, &options).unwrap();
        test(&device);
        drop(device);
        let messages = instance.take_validation_messages();
        assert!(messages.is_empty(), "{}: {messages:#?}", physical.info().name);
        tested += 1;
    }
    assert!(tested > 0, "there is no Vulkan device; run `cargo xtask test`");
}
