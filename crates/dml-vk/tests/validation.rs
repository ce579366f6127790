//! The positive control: with validation required, a deliberate hazard is reported.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{buffer, instance, validation};
use dml_vk::ash::vk;
use dml_vk::{Buffer, Device, Validation};

/// Submits two fills of one range with nothing between them, past this crate's own recorder.
#[allow(unsafe_code, reason = "the recorder records no such thing")]
fn write_twice_without_a_barrier(device: &Device, target: &Buffer) {
    let raw = device.raw();
    let info = vk::CommandPoolCreateInfo::default().queue_family_index(device.queue_family());
    // SAFETY: the device has a queue of this family.
    let pool = unsafe { raw.create_command_pool(&info, None) }.unwrap();
    let info = vk::CommandBufferAllocateInfo::default().command_pool(pool).command_buffer_count(1);
    // SAFETY: the pool is new and not shared.
    let commands = unsafe { raw.allocate_command_buffers(&info) }.unwrap();
    // SAFETY: the command buffer is new and not shared.
    unsafe { raw.begin_command_buffer(commands[0], &vk::CommandBufferBeginInfo::default()) }
        .unwrap();
    for value in [1, 2] {
        // SAFETY: the command buffer is recording; the range is the whole buffer.
        unsafe { raw.cmd_fill_buffer(commands[0], target.raw(), 0, target.size(), value) };
    }
    // SAFETY: the command buffer is recording.
    unsafe { raw.end_command_buffer(commands[0]) }.unwrap();
    device
        .with_queue(|queue| {
            let submit = vk::SubmitInfo::default().command_buffers(&commands);
            // SAFETY: the queue is locked, and everything is kept until the device is idle.
            unsafe { raw.queue_submit(queue, &[submit], vk::Fence::null()) }.unwrap();
        })
        .unwrap();
    device.wait_idle().unwrap();
    // SAFETY: the device is idle.
    unsafe { raw.destroy_command_pool(pool, None) };
}

#[test]
fn a_deliberate_hazard_is_reported_where_validation_is_required() {
    let (_messages, instance) = instance();
    for physical in instance.physical_devices().unwrap() {
        if physical.unsuitable().is_some() {
            continue;
        }
        let device = Device::new(&physical).unwrap();
        let target = buffer(&device, 1024);
        write_twice_without_a_barrier(&device, &target);
        // Taken here, so that the guard does not see them.
        let messages = instance.take_validation_messages();
        if validation() == Validation::Required {
            let hazard = |message: &dml_vk::ValidationMessage| {
                message.id.contains("SYNC-HAZARD-WRITE-AFTER-WRITE")
                    || message.text.contains("SYNC-HAZARD-WRITE-AFTER-WRITE")
            };
            assert!(
                messages.iter().any(hazard),
                "synchronization validation is not on; run these tests with `cargo xtask test`: \
                 {messages:?}"
            );
        }
    }
}
