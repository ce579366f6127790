//! Bytes of the host, and semaphores of the caller, that are part of a submission.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(unsafe_code, reason = "the caller's semaphores")]

mod common;

use common::kernels::{plan, ramp};
use common::{
    bind, buffer, buffer_with, compile, counts, each_device, each_injected_device, pattern, words,
};
use dml_core::plan::Slot;
use dml_vk::ash::vk;
use dml_vk::{
    BufferUsage, Device, MemoryLocation, ReadBack, Recorder, SemaphoreValue, SubmitSemaphores,
};

#[test]
fn many_uploads_and_read_backs_are_one_submission_that_allocates_nothing_the_second_time() {
    each_injected_device(|injector, device| {
        let (from, to) = (buffer(device, 64 << 10), buffer(device, 64 << 10));
        for round in 0..3 {
            let before = counts(injector, ["vkQueueSubmit", "vkWaitSemaphores"]);
            let made = ["vkCreateBuffer", "vkAllocateMemory", "vkCreateCommandPool"];
            let made_before = counts(injector, made);
            let mut recorder = Recorder::new(device).unwrap();
            let bytes = pattern((64 << 10) + round);
            for (index, part) in (0..).zip(bytes[round..].chunks(1000)) {
                recorder.write_buffer(&from, index * 1000, part).unwrap();
            }
            recorder.barrier_all();
            recorder.copy_buffer(&from, 0, &to, 0, to.size()).unwrap();
            recorder.barrier_all();
            let read =
                |index: u64| recorder.read_buffer(&to, index << 10..(index + 1) << 10).unwrap();
            let parts: Vec<ReadBack> = (0..64).map(read).collect();
            let submission = device.submit(recorder.finish().unwrap()).unwrap();
            submission.wait().unwrap();
            let after = counts(injector, ["vkQueueSubmit", "vkWaitSemaphores"]);
            assert_eq!(after, [before[0] + 1, before[1] + 1]);
            let found: Vec<u8> = parts.iter().flat_map(|part| part.read().unwrap()).collect();
            assert!(found == bytes[round..]);
            if round > 0 {
                assert_eq!(counts(injector, made), made_before, "round {round}");
            }
        }
    });
}

#[test]
fn a_read_back_waits_for_its_own_submission() {
    each_device(|device| {
        let buffer = buffer(device, 256);
        let table =
            bind(&compile(device, plan(256, vec![ramp(Slot::Output(0), 0..256, 9)])), &buffer);
        let mut recorder = Recorder::repeatable(device).unwrap();
        recorder.dispatch(&table).unwrap();
        recorder.barrier_all();
        let some = recorder.read_buffer(&buffer, 4..12).unwrap();
        let none = recorder.read_buffer(&buffer, 8..8).unwrap();
        let mut list = recorder.finish().unwrap();
        let error = some.read().unwrap_err();
        assert!(error.is_invalid() && error.to_string().contains("not submitted"), "{error}");
        for _ in 0..2 {
            let submission = device.submit(list).unwrap();
            assert_eq!(words(&some.read().unwrap()), [10, 11]);
            assert!(submission.is_complete().unwrap() && none.read().unwrap().is_empty());
            list = submission.into_list().unwrap();
        }
        let error = some.read_into(&mut [0; 7]).unwrap_err();
        assert!(error.to_string().contains("7 bytes, 8 are needed"), "{error}");
        drop(list);
        assert_eq!(words(&some.read().unwrap()), [10, 11]);
    });
}

#[test]
fn what_does_not_fit_is_refused() {
    each_device(|device| {
        let unreadable = buffer_with(device, 64, BufferUsage::TRANSFER_DST, MemoryLocation::Device);
        let mut recorder = Recorder::new(device).unwrap();
        assert!(recorder.write_buffer(&unreadable, 60, &[0; 5]).unwrap_err().is_invalid());
        assert!(recorder.write_buffer(&unreadable, u64::MAX, &[0; 5]).unwrap_err().is_invalid());
        assert!(recorder.read_buffer(&unreadable, 0..4).unwrap_err().is_invalid());
        let source = buffer_with(device, 64, BufferUsage::TRANSFER_SRC, MemoryLocation::Device);
        assert!(recorder.write_buffer(&source, 0, &[0; 4]).unwrap_err().is_invalid());
        assert!(recorder.read_buffer(&source, 4..65).unwrap_err().is_invalid());
        recorder.write_buffer(&unreadable, 64, &[]).unwrap();
    });
}

/// A timeline semaphore of the caller's, at 0.
struct Timeline<'a>(&'a Device, vk::Semaphore);

impl<'a> Timeline<'a> {
    fn new(device: &'a Device) -> Self {
        let mut kind =
            vk::SemaphoreTypeCreateInfo::default().semaphore_type(vk::SemaphoreType::TIMELINE);
        let info = vk::SemaphoreCreateInfo::default().push_next(&mut kind);
        // SAFETY: the device has timeline semaphores.
        Self(device, unsafe { device.raw().create_semaphore(&info, None) }.unwrap())
    }

    fn at(&self, value: u64) -> SemaphoreValue {
        SemaphoreValue { semaphore: self.1, value }
    }

    fn signal(&self, value: u64) {
        let info = vk::SemaphoreSignalInfo::default().semaphore(self.1).value(value);
        // SAFETY: the value grows, and no submission signals as much.
        unsafe { self.0.raw().signal_semaphore(&info) }.unwrap();
    }

    fn value(&self) -> u64 {
        // SAFETY: the semaphore is alive.
        unsafe { self.0.raw().get_semaphore_counter_value(self.1) }.unwrap()
    }
}

impl Drop for Timeline<'_> {
    fn drop(&mut self) {
        // SAFETY: what uses it has completed, or the test has failed.
        unsafe { self.0.raw().destroy_semaphore(self.1, None) };
    }
}

#[test]
fn submissions_wait_for_the_callers_semaphores_and_signal_them() {
    each_device(|device| {
        let semaphore = Timeline::new(device);
        let (used, other) = (
            buffer(device, 256),
            buffer_with(device, 256, BufferUsage::all(), MemoryLocation::Readback),
        );
        let mut recorder = Recorder::new(device).unwrap();
        recorder.fill_buffer(&used, 0..256, 7).unwrap();
        let (wait, signal) = ([semaphore.at(1)], [semaphore.at(2)]);
        let semaphores = SubmitSemaphores { wait: &wait, signal: &signal };
        let list = recorder.finish().unwrap();
        // SAFETY: the semaphore outlives the submission, its values grow, and 1 is signalled below.
        let submission = unsafe { device.submit_with(list, &semaphores) }.unwrap();
        assert!(!submission.is_complete().unwrap());
        // Memory that the host sees, and that the submission does not use, need not wait for it.
        device.write_buffer(&other, 0, &[5; 256]).unwrap();
        assert_eq!(device.read_buffer(&other, 0..256).unwrap(), [5; 256]);
        assert!(!submission.is_complete().unwrap() && semaphore.value() == 0);
        semaphore.signal(1);
        assert_eq!(words(&device.read_buffer(&used, 0..256).unwrap()), [7; 64]);
        submission.wait().unwrap();
        assert_eq!(semaphore.value(), 2);
        let null = [SemaphoreValue { semaphore: vk::Semaphore::null(), value: 0 }];
        let semaphores = SubmitSemaphores { wait: &null, signal: &[] };
        let list = Recorder::new(device).unwrap().finish().unwrap();
        // SAFETY: it is refused.
        let refused = unsafe { device.submit_with(list, &semaphores) };
        assert!(refused.unwrap_err().is_invalid());
    });
}
