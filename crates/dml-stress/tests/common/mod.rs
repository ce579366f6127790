//! Every device of the machine, with a check that the validation layer had nothing to say.
#![allow(clippy::unwrap_used, reason = "a failure is what a test reports")]

use dml::vk::{Device, DeviceDesc, Instance, InstanceDesc, Validation};

/// Runs `test` on every device.
pub(crate) fn each_device(test: impl Fn(&Device)) {
    let required = std::env::var("DML_TEST_VALIDATION").is_ok_and(|it| it == "required");
    let validation = if required { Validation::Required } else { Validation::Off };
    let instance = Instance::new(&InstanceDesc { validation, ..InstanceDesc::default() }).unwrap();
    let devices = instance.physical_devices().unwrap();
    let usable: Vec<_> = devices.iter().filter(|it| it.unsuitable().is_none()).collect();
    assert!(!usable.is_empty(), "there is no Vulkan device; run `cargo xtask test`");
    for physical in usable {
        test(&Device::with_desc(physical, &DeviceDesc::default()).unwrap());
        let messages = instance.take_validation_messages();
        assert!(messages.is_empty(), "{}: {messages:#?}", physical.info().name);
    }
}
