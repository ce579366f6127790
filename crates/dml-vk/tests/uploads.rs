//! Uploads to memory that the host cannot map: batches that nobody waits for.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{buffer, counts, each_device_with, one_at_a_time, pattern};
use dml_fault::{Fault, Injector};
use dml_vk::ash::vk;
use dml_vk::{Buffer, Device, DeviceDesc, InstanceDesc, Recorder};

const MIB: u64 = 1 << 20;

fn each_staging_device(test: impl Fn(&Injector, &Device)) {
    let _guard = one_at_a_time();
    let injector = Injector::new().unwrap();
    let instance =
        InstanceDesc { entry_points: injector.entry_points(), ..InstanceDesc::default() };
    let desc = DeviceDesc { always_stage: true, ..DeviceDesc::default() };
    each_device_with(instance, &desc, |device| {
        test(&injector, device);
        injector.arm(None);
    });
    assert_eq!(injector.live_objects(), []);
}

fn bytes(device: &Device, buffer: &Buffer) -> Vec<u8> {
    device.read_buffer(buffer, 0..buffer.size()).unwrap()
}

#[test]
fn many_uploads_are_one_submission_that_nobody_waits_for() {
    each_staging_device(|injector, device| {
        let buffers: Vec<Buffer> = (0..100).map(|_| buffer(device, 1000)).collect();
        let to = buffer(device, 1000);
        let mut pools = 0;
        for round in 0..3 {
            injector.arm(None);
            for (index, buffer) in buffers.iter().enumerate() {
                let bytes = pattern(1000 + index + round);
                device.upload(buffer, 0, &bytes[index + round..]).unwrap();
            }
            let of_device = ["vkQueueSubmit", "vkWaitSemaphores"];
            assert_eq!(counts(injector, of_device), [0, 0]);
            let mut recorder = Recorder::new(device).unwrap();
            recorder.copy_buffer(&buffers[7], 0, &to, 0, 1000).unwrap();
            let submission = device.submit(recorder.finish().unwrap()).unwrap();
            assert_eq!(counts(injector, of_device), [2, 0]);
            submission.wait().unwrap();
            assert!(bytes(device, &to) == pattern(1007 + round)[7 + round..]);
            for (index, buffer) in buffers.iter().enumerate() {
                assert!(bytes(device, buffer) == pattern(1000 + index + round)[index + round..]);
            }
            let made = ["vkCreateBuffer", "vkCreateCommandPool", "vkDestroyCommandPool"];
            let [buffers, new_pools, destroyed] = counts(injector, made);
            assert!(round == 0 || buffers == 0, "{buffers} buffers");
            assert_eq!(destroyed, 0);
            pools += new_pools;
        }
        // A pool is made only while all others are in use: so many were in use at once. They are those of a list, of a
        // read-back after it, and of the uploads before them, unless the device was quick.
        assert!((2..=3).contains(&pools), "{pools} pools");
    });
}

#[test]
fn large_uploads_have_bounded_staging_memory() {
    each_staging_device(|injector, device| {
        let large = buffer(device, 150 * MIB);
        let content = pattern(150 << 20);
        let before = device.memory_report().allocated;
        injector.arm(None);
        device.upload(&large, 0, &content).unwrap();
        // Nine whole batches of 16 MiB; the last 6 MiB are submitted with what comes next. Only 64 MiB may be under
        // way, so at most six of the ten pieces waited.
        let [submissions, waits] = counts(injector, ["vkQueueSubmit", "vkWaitSemaphores"]);
        assert_eq!(submissions, 9);
        assert!(waits <= 6, "{waits}");
        assert!(device.memory_report().allocated - before <= 64 * MIB);
        assert!(bytes(device, &large) == content);
        device.release_unused();
        assert_eq!(device.memory_report().allocated, before);
    });
}

#[test]
fn uploads_of_the_same_bytes_are_ordered() {
    each_staging_device(|injector, device| {
        let buffer = buffer(device, 100);
        let barriers = |uploads: &[(u64, &[u8])]| {
            injector.arm(None);
            for (offset, bytes) in uploads {
                device.upload(&buffer, *offset, bytes).unwrap();
            }
            device.wait_idle().unwrap();
            counts(injector, ["vkCmdPipelineBarrier", "vkQueueSubmit"])
        };
        // One ends the batch; the second submission is that of `wait_idle`.
        assert_eq!(barriers(&[(0, &[9; 50]), (50, &[9; 50])]), [1, 2]);
        assert_eq!(barriers(&[(0, &[1; 100]), (25, &[2; 50]), (30, &[3; 5])]), [3, 2]);
        let expected = [vec![1; 25], vec![2; 5], vec![3; 5], vec![2; 40], vec![1; 25]].concat();
        assert_eq!(bytes(device, &buffer), expected);
    });
}

/// Small buffers share blocks of memory, which the device keeps; a large one has memory of its own.
#[test]
fn memory_of_a_large_buffer_is_free_once_it_is_dropped() {
    each_staging_device(|_, device| {
        let small = buffer(device, 1 << 10);
        let before = device.memory_report();
        let large = buffer(device, 9 << 20);
        let with_large = device.memory_report();
        assert_eq!(with_large.blocks, before.blocks + 1);
        assert_eq!(with_large.reserved - before.reserved, with_large.allocated - before.allocated);
        drop(large);
        assert_eq!(device.memory_report(), before);
        drop(small);
    });
}

#[test]
fn uploads_that_found_no_memory_are_submitted_later() {
    each_staging_device(|injector, device| {
        for name in ["vkBeginCommandBuffer", "vkEndCommandBuffer", "vkQueueSubmit"] {
            let buffer = buffer(device, 100);
            device.upload(&buffer, 0, &[5; 100]).unwrap();
            let result = vk::Result::ERROR_OUT_OF_DEVICE_MEMORY;
            injector.arm(Some(Fault::Named { name, first: 1, count: 1, result }));
            assert!(device.wait_idle().unwrap_err().is_out_of_memory(), "{name}");
            assert!(injector.hit().is_some());
            injector.arm(None);
            assert_eq!(bytes(device, &buffer), [5; 100], "{name}");
        }
    });
}

#[test]
fn uploads_that_were_not_submitted_are_dropped_with_the_device() {
    each_staging_device(|_, device| {
        let buffer = buffer(device, 100);
        device.upload(&buffer, 0, &[5; 100]).unwrap();
        drop(buffer);
        // The destination and a block of staging memory.
        assert_eq!(device.memory_report().buffers, 2);
    });
}

#[test]
fn the_callers_use_of_the_queue_comes_after_uploads() {
    each_staging_device(|injector, device| {
        let buffer = buffer(device, 100);
        device.upload(&buffer, 0, &[5; 100]).unwrap();
        injector.arm(None);
        device.with_queue(|_| assert_eq!(counts(injector, ["vkQueueSubmit"]), [1])).unwrap();
    });
}
