//! The caller's side of bring your own, on every device.

use dml_fault::dml_vk::ash::vk;
use dml_fault::dml_vk::{DeviceSelector, Instance, InstanceDesc, Validation, access};
use dml_fault::{Caller, Commands};

/// Whether the validation layer must be on: DML_TEST_VALIDATION=required.
pub fn validation() -> Validation {
    match std::env::var("DML_TEST_VALIDATION").as_deref() {
        Ok("required") => Validation::Required,
        _ => Validation::Off,
    }
}

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

/// Ends with the barrier that the caller owes where the host reads what an operator wrote.
pub fn finish_for_host(commands: Commands<'_>) {
    let host = (vk::PipelineStageFlags::HOST, vk::AccessFlags::HOST_READ);
    commands.barrier((access().stages, access().outputs), host);
    commands.finish().unwrap();
}
