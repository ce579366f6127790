//! Bytes go to a device and come back, in every way there is.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::time::Duration;

use common::{buffer, buffer_with, each_device, each_device_with, pattern, words};
use dml_core::CapabilityCap;
use dml_vk::{
    BufferUsage, Device, DeviceDesc, InstanceDesc, MemoryLocation, QueueChoice, Recorder,
};

const LOCATIONS: [MemoryLocation; 3] =
    [MemoryLocation::Device, MemoryLocation::Upload, MemoryLocation::Readback];

const STAGED: DeviceDesc = DeviceDesc {
    always_stage: true,
    cap: CapabilityCap::NONE,
    pipeline_cache: None,
    without_robust_access: false,
    compile_threads: None,
    work_bound: None,
    queue: QueueChoice::ComputeOnly,
};

fn write_and_read(device: &Device) {
    for location in LOCATIONS {
        let buffer = buffer_with(device, 1021, BufferUsage::all(), location);
        assert_eq!(buffer.size(), 1024);
        let bytes = pattern(1024);
        device.write_buffer(&buffer, 0, &bytes).unwrap();
        assert_eq!(device.read_buffer(&buffer, 0..1024).unwrap(), bytes, "{location:?}");
        // Odd ranges leave their neighbours alone.
        device.write_buffer(&buffer, 333, &[1, 2, 3, 4, 5]).unwrap();
        assert_eq!(device.read_buffer(&buffer, 333..338).unwrap(), [1, 2, 3, 4, 5]);
        assert_eq!(device.read_buffer(&buffer, 0..333).unwrap(), bytes[..333]);
        assert_eq!(device.read_buffer(&buffer, 338..1024).unwrap(), bytes[338..]);
        // Empty ranges are allowed up to the end.
        device.write_buffer(&buffer, 1024, &[]).unwrap();
        assert!(device.read_buffer(&buffer, 1024..1024).unwrap().is_empty());
    }
}

#[test]
fn bytes_come_back_directly() {
    each_device(write_and_read);
}

#[test]
fn bytes_come_back_through_staging() {
    each_device_with(InstanceDesc::default(), &STAGED, write_and_read);
}

#[test]
fn vulkan_1_1_with_the_timeline_extension_is_enough() {
    let instance = InstanceDesc {
        max_api_version: Some(dml_vk::ash::vk::API_VERSION_1_1),
        ..InstanceDesc::default()
    };
    each_device_with(instance, &STAGED, |device| {
        write_and_read(device);
        device.wait_idle().unwrap();
    });
}

#[test]
fn a_large_buffer_is_staged_in_pieces() {
    each_device_with(InstanceDesc::default(), &STAGED, |device| {
        let bytes = pattern((64 << 20) + 1237);
        let buffer = buffer(device, bytes.len() as u64 + 8);
        device.write_buffer(&buffer, 5, &bytes).unwrap();
        assert!(device.read_buffer(&buffer, 5..5 + bytes.len() as u64).unwrap() == bytes);
    });
}

#[test]
fn buffers_of_one_usage_are_reached_where_the_host_sees_them() {
    each_device(|device| {
        for location in [MemoryLocation::Upload, MemoryLocation::Readback] {
            for usage in
                [BufferUsage::STORAGE, BufferUsage::TRANSFER_SRC, BufferUsage::TRANSFER_DST]
            {
                let buffer = buffer_with(device, 64, usage, location);
                device.write_buffer(&buffer, 0, &[7; 64]).unwrap();
                assert_eq!(device.read_buffer(&buffer, 60..64).unwrap(), [7; 4]);
            }
        }
    });
}

#[test]
fn fills_and_copies_execute_in_order() {
    each_device(|device| {
        let (first, second) = (buffer(device, 256), buffer(device, 256));
        let mut recorder = Recorder::new(device).unwrap();
        recorder.fill_buffer(&first, 0..256, 0xAAAA_AAAA).unwrap();
        recorder.barrier_all();
        recorder.fill_buffer(&first, 16..32, 5).unwrap();
        recorder.barrier_all();
        recorder.copy_buffer(&first, 8, &second, 0, 32).unwrap();
        recorder.barrier_all();
        recorder.copy_buffer(&second, 0, &second, 128, 16).unwrap();
        let submission = device.submit(recorder.finish().unwrap()).unwrap();
        assert!(submission.wait_timeout(Duration::from_secs(60)).unwrap());
        assert!(submission.is_complete().unwrap());
        let result = words(&device.read_buffer(&second, 0..32).unwrap());
        let fill = 0xAAAA_AAAA;
        assert_eq!(result, [fill, fill, 5, 5, 5, 5, fill, fill]);
        let copied = device.read_buffer(&second, 128..144).unwrap();
        assert_eq!(copied, device.read_buffer(&second, 0..16).unwrap());
    });
}

#[test]
fn submissions_follow_each_other_without_the_host() {
    each_device(|device| {
        let (a, b) = (buffer(device, 1 << 16), buffer(device, 1 << 16));
        let mut submissions = Vec::new();
        for value in 1..=8_u32 {
            let mut recorder = Recorder::new(device).unwrap();
            recorder.fill_buffer(&a, 0..1 << 16, value).unwrap();
            recorder.barrier_all();
            recorder.copy_buffer(&a, 0, &b, 0, 1 << 16).unwrap();
            submissions.push(device.submit(recorder.finish().unwrap()).unwrap());
        }
        let values: Vec<_> = submissions.iter().map(dml_vk::Submission::timeline_value).collect();
        assert!(values.is_sorted_by(|a, b| a < b));
        let bytes = device.read_buffer(&b, 0..1 << 16).unwrap();
        assert!(words(&bytes).iter().all(|word| *word == 8));
        assert!(submissions.iter().all(|submission| submission.is_complete().unwrap()));
    });
}

#[test]
fn one_device_serves_many_threads() {
    each_device(|device| {
        std::thread::scope(|scope| {
            for value in 0..4_u8 {
                scope.spawn(move || {
                    for _ in 0..8 {
                        let own = buffer(device, 4096);
                        let mut recorder = Recorder::new(device).unwrap();
                        recorder
                            .fill_buffer(&own, 0..4096, u32::from_ne_bytes([value; 4]))
                            .unwrap();
                        device.submit(recorder.finish().unwrap()).unwrap().wait().unwrap();
                        assert_eq!(device.read_buffer(&own, 0..4096).unwrap(), [value; 4096]);
                    }
                });
            }
        });
        device.wait_idle().unwrap();
    });
}
