//! Parts that the tests of linked kernels share: devices, and buffers whose tensors do not start at a descriptor's
//! alignment.

#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a failure is what a test reports")]

pub(crate) mod run;

use dml::vk::{
    Buffer, BufferBinding, BufferDesc, BufferUsage, Device, DeviceDesc, Instance, InstanceDesc,
    MemoryLocation, Validation,
};

/// The offset of tensors in their buffers.
pub(crate) const OFFSET: u64 = 16;

pub(crate) fn each_device(test: impl Fn(&Device)) {
    let required = std::env::var("DML_TEST_VALIDATION").is_ok_and(|it| it == "required");
    let validation = if required { Validation::Required } else { Validation::Off };
    let instance = Instance::new(&InstanceDesc { validation, ..InstanceDesc::default() }).unwrap();
    let devices = instance.physical_devices().unwrap();
    let usable: Vec<_> = devices.iter().filter(|device| device.unsuitable().is_none()).collect();
    assert!(!usable.is_empty(), "there is no Vulkan device; run `cargo xtask test`");
    for physical in usable {
        test(&Device::with_desc(physical, &DeviceDesc::default()).unwrap());
        let messages = instance.take_validation_messages();
        assert!(messages.is_empty(), "{}: {messages:#?}", physical.info().name);
    }
}

/// A buffer that has these bytes at [`OFFSET`].
pub(crate) fn buffer(device: &Device, bytes: &[u8]) -> Buffer {
    let size = OFFSET + bytes.len() as u64;
    let (usage, location) = (BufferUsage::all(), MemoryLocation::Device);
    let desc = BufferDesc { size, usage, location, name: "linked" };
    let buffer = device.create_buffer(&desc).unwrap();
    device.write_buffer(&buffer, OFFSET, bytes).unwrap();
    buffer
}

/// The part of a buffer from [`OFFSET`] on.
pub(crate) fn part(buffer: &Buffer) -> Option<BufferBinding<'_>> {
    Some(BufferBinding { buffer, offset: OFFSET, size: buffer.size() - OFFSET })
}
