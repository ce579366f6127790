//! The positive controls: with validation required, the layer reports a deliberate hazard however
//! often it happens, and a queue that two threads use at once.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::sync::Barrier;

use common::{buffer, instance, run, validation};
use dml_fault::usable_devices;
use dml_vk::ash::vk;
use dml_vk::{
    Buffer, Device, DeviceDesc, DeviceSelector, EntryPoints, Instance, Recorder, Validation,
    ValidationMessage,
};

/// Submits two fills of one range without a barrier between them.
fn write_twice_without_a_barrier(device: &Device, target: &Buffer) {
    run(device, |recorder| {
        recorder.fill_buffer(target, 0..target.size(), 1)?;
        recorder.fill_buffer(target, 0..target.size(), 2)
    });
}

/// Two threads wait for one queue at once, without the lock that keeps them apart. Drivers tolerate it, but Vulkan
/// forbids it.
#[allow(unsafe_code, reason = "the queue is only given out under its lock")]
fn use_a_queue_from_two_threads(device: &Device, target: &Buffer) {
    let mut recorder = Recorder::new(device).unwrap();
    for value in 0..16 {
        recorder.fill_buffer(target, 0..target.size(), value).unwrap();
        recorder.barrier_all();
    }
    let _ticket = device.submit(recorder.finish().unwrap()).unwrap();
    let queue = device.with_queue(|queue| queue).unwrap();
    let start = Barrier::new(2);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                start.wait();
                // SAFETY: not kept, on purpose: the queue is not externally synchronized.
                unsafe { device.raw().queue_wait_idle(queue) }.unwrap();
            });
        }
    });
}

/// Runs `test` on every usable device, each with its own instance.
fn each(test: impl Fn(&Instance, &Device)) {
    let (_messages, instance) = instance();
    for physical in usable_devices(&instance) {
        test(&instance, &Device::new(&physical).unwrap());
    }
}

/// Without its setting, the layer reports the same message at most 10 times.
#[test]
fn a_message_is_reported_every_time() {
    const TIMES: usize = 40;
    each(|instance, device| {
        let target = buffer(device, 1024);
        for _ in 0..TIMES {
            write_twice_without_a_barrier(device, &target);
        }
        let messages = instance.take_validation_messages();
        let hazards = messages.iter().filter(|message| is_hazard(message)).count();
        if validation() == Validation::Required {
            assert_eq!(hazards, TIMES, "{:?}", messages.last());
        }
    });
}

/// Whether the layer notices a race of threads is chance, so the race is repeated until it does.
#[test]
fn a_queue_that_two_threads_use_at_once_is_reported() {
    const TRIES: usize = 200;
    each(|instance, device| {
        let target = buffer(device, 4 << 20);
        let is_reported = (0..TRIES).any(|_| {
            use_a_queue_from_two_threads(device, &target);
            let messages = instance.take_validation_messages();
            let is_threading = |it: &ValidationMessage| {
                it.id.contains("Threading") || it.text.contains("THREADING")
            };
            messages.iter().any(is_threading)
        });
        let is_required = validation() == Validation::Required;
        assert_eq!(
            is_reported, is_required,
            "the layer's check of threads is not on; run these tests with `cargo xtask test`"
        );
    });
}

/// An instance that a caller creates, as in the sweep of faults, has a log of its own.
#[test]
#[allow(unsafe_code, reason = "the runtime leaves nothing behind")]
fn what_a_caller_leaves_behind_is_reported_where_validation_is_required() {
    let caller = dml_fault::Caller::new(&DeviceSelector::Best, validation()).unwrap();
    let log = caller.validation_log();
    let device = caller.wrap(EntryPoints::default(), false, &DeviceDesc::default()).unwrap();
    let info = vk::CommandPoolCreateInfo::default().queue_family_index(device.queue_family());
    // SAFETY: not kept, on purpose: the pool is never destroyed.
    unsafe { device.raw().create_command_pool(&info, None) }.unwrap();
    drop(device);
    drop(caller);
    let messages = log.take();
    assert_eq!(!messages.is_empty(), validation() == Validation::Required, "{messages:?}");
}

fn is_hazard(message: &ValidationMessage) -> bool {
    let name = "SYNC-HAZARD-WRITE-AFTER-WRITE";
    message.id.contains(name) || message.text.contains(name)
}

#[test]
fn a_deliberate_hazard_is_reported_where_validation_is_required() {
    each(|instance, device| {
        let target = buffer(device, 1024);
        write_twice_without_a_barrier(device, &target);
        // Taken here, so that the guard does not see the messages.
        let messages = instance.take_validation_messages();
        if validation() == Validation::Required {
            assert!(
                messages.iter().any(is_hazard),
                "synchronization validation is not on; run these tests with `cargo xtask test`: \
                 {messages:?}"
            );
        }
    });
}
