//! The caller's side of bring your own, on every device.

use dml_fault::Caller;
use dml_fault::dml_vk::{DeviceSelector, Instance, InstanceDesc};

use super::validation;

/// Calls `test` once for each device, with an instance and a device of its own, and fails on any
/// validation message.
pub fn each_caller(test: impl Fn(&Caller)) {
    let instance = Instance::new(&InstanceDesc::default()).unwrap();
    let count = instance.physical_devices().unwrap().len();
    assert!(count > 0, "there is no Vulkan device: run these tests with `cargo xtask test`");
    for index in 0..count {
        let caller = Caller::new(&DeviceSelector::Index(index), validation()).unwrap();
        let log = caller.validation_log();
        test(&caller);
        drop(caller);
        assert_eq!(log.take(), [], "validation messages");
    }
}
