//! The device tells how long work took, and however timestamps are recorded, submitted and asked, the
//! validation layer has nothing to say.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(unsafe_code, reason = "work that the test holds up")]

mod common;

use std::cell::Cell;
use std::time::Duration;

use common::{buffer, each_device};
use dml_vk::ash::vk;
use dml_vk::{CommandList, Device, Recorder, Timestamps};

/// Calls `test` with room for two times on each device whose queue has them.
fn each_timed_device(test: impl Fn(&Device, &Timestamps)) {
    let tested = Cell::new(0);
    each_device(|device| match Timestamps::new(device, 2) {
        Ok(timestamps) => {
            test(device, &timestamps);
            tested.set(tested.get() + 1);
        }
        Err(error) => {
            assert!(error.is_unsupported(), "{error}");
            assert!(error.to_string().contains("timestampValidBits"), "{error}");
            println!("{error}");
        }
    });
    assert!(tested.get() > 0, "no device has timestamps");
}

/// A list that may be submitted again, with times before and after a fill, as far as `places` has them.
fn timed_fill(device: &Device, timestamps: &Timestamps, places: &[u32]) -> CommandList {
    let mut recorder = Recorder::repeatable(device).unwrap();
    for place in places {
        recorder.write_timestamp(timestamps, *place).unwrap();
        recorder.fill_buffer(&buffer(device, 1 << 16), 0..1 << 16, 7).unwrap();
    }
    recorder.finish().unwrap()
}

#[test]
fn the_device_tells_how_long_work_took() {
    each_timed_device(|device, timestamps| {
        let mut list = timed_fill(device, timestamps, &[0, 1]);
        for _ in 0..2 {
            list = device.submit(list).unwrap().into_list().unwrap();
            let elapsed = timestamps.elapsed(0, 1).unwrap().expect("the work has completed");
            // How long is nobody's business here, but a wrong unit or a wrapped time is.
            assert!(elapsed < Duration::from_secs(600), "{elapsed:?}");
        }
    });
}

#[test]
fn there_is_no_time_before_a_submission() {
    each_timed_device(|device, timestamps| {
        assert_eq!(timestamps.elapsed(0, 1).unwrap(), None);
        let list = timed_fill(device, timestamps, &[0, 1]);
        assert_eq!(timestamps.elapsed(0, 1).unwrap(), None);
        drop(list);
        assert_eq!(timestamps.elapsed(0, 1).unwrap(), None);
    });
}

#[test]
fn there_is_no_time_while_the_work_is_in_flight() {
    each_timed_device(|device, timestamps| {
        let mut kind = vk::SemaphoreTypeCreateInfo::default()
            .semaphore_type(vk::SemaphoreType::TIMELINE)
            .initial_value(0);
        let info = vk::SemaphoreCreateInfo::default().push_next(&mut kind);
        // SAFETY: the device has timeline semaphores.
        let gate = unsafe { device.raw().create_semaphore(&info, None) }.unwrap();
        for value in 1..3 {
            let list = timed_fill(device, timestamps, &[0, 1]);
            hold_up(device, gate, value);
            let submission = device.submit(list).unwrap();
            let in_flight = timestamps.elapsed(0, 1);
            let info = vk::SemaphoreSignalInfo::default().semaphore(gate).value(value);
            // SAFETY: the value is above all before it.
            unsafe { device.raw().signal_semaphore(&info) }.unwrap();
            submission.wait().unwrap();
            assert_eq!(in_flight.unwrap(), None);
            assert!(timestamps.elapsed(0, 1).unwrap().is_some());
        }
        device.wait_idle().unwrap();
        // SAFETY: the device is idle.
        unsafe { device.raw().destroy_semaphore(gate, None) };
    });
}

/// Lets later submissions wait until `gate` has `value`.
fn hold_up(device: &Device, gate: vk::Semaphore, value: u64) {
    let (semaphores, values) = ([gate], [value]);
    let mut timeline = vk::TimelineSemaphoreSubmitInfo::default().wait_semaphore_values(&values);
    let submit = vk::SubmitInfo::default()
        .wait_semaphores(&semaphores)
        .wait_dst_stage_mask(&[vk::PipelineStageFlags::ALL_COMMANDS])
        .push_next(&mut timeline);
    let submit = |queue| {
        // SAFETY: the queue is locked, and the semaphore is kept until the device is idle.
        unsafe { device.raw().queue_submit(queue, &[submit], vk::Fence::null()) }
    };
    device.with_queue(submit).unwrap().unwrap();
}

#[test]
fn a_list_writes_a_place_once() {
    each_timed_device(|device, timestamps| {
        let mut recorder = Recorder::new(device).unwrap();
        recorder.write_timestamp(timestamps, 1).unwrap();
        let error = recorder.write_timestamp(timestamps, 1).unwrap_err();
        assert!(error.is_invalid(), "{error:?}");
        assert_eq!(error.to_string(), "index: 1, a place that the list writes already");
        recorder.write_timestamp(&timestamps.clone(), 0).unwrap();
        assert!(recorder.write_timestamp(timestamps, 0).unwrap_err().is_invalid());
        device.submit(recorder.finish().unwrap()).unwrap().wait().unwrap();
        assert!(timestamps.elapsed(1, 0).unwrap().is_some());
    });
}

#[test]
fn a_submission_forgets_the_times_of_the_one_before() {
    each_timed_device(|device, timestamps| {
        let both = timed_fill(device, timestamps, &[0, 1]);
        let both = device.submit(both).unwrap().into_list().unwrap();
        assert!(timestamps.elapsed(0, 1).unwrap().is_some());
        device.submit(timed_fill(device, timestamps, &[1])).unwrap().wait().unwrap();
        assert_eq!(timestamps.elapsed(0, 1).unwrap(), None);
        assert_eq!(timestamps.elapsed(1, 1).unwrap(), Some(Duration::ZERO));
        device.submit(both).unwrap().wait().unwrap();
        assert!(timestamps.elapsed(0, 1).unwrap().is_some());
    });
}

#[test]
fn lists_of_several_threads_write_the_same_timestamps_in_any_order() {
    each_timed_device(|device, timestamps| {
        let record = || timed_fill(device, timestamps, &[0, 1]);
        let mut lists: Vec<_> = std::thread::scope(|scope| {
            let threads = [(); 4].map(|()| scope.spawn(record));
            threads.map(|thread| thread.join().unwrap()).into_iter().collect()
        });
        for _ in 0..3 {
            lists.reverse();
            // All are in flight at once.
            let submit = |list| device.submit(list).unwrap();
            let submissions: Vec<_> = lists.into_iter().map(submit).collect();
            timestamps.elapsed(0, 1).unwrap();
            lists =
                submissions.into_iter().map(|submission| submission.into_list().unwrap()).collect();
            let elapsed = timestamps.elapsed(0, 1).unwrap().expect("the work has completed");
            assert!(elapsed < Duration::from_secs(600), "{elapsed:?}");
            lists.rotate_left(1);
        }
    });
}

#[test]
fn there_are_timestamps_from_1_to_65536() {
    each_timed_device(|device, timestamps| {
        for count in [0, 65_537, u32::MAX] {
            let error = Timestamps::new(device, count).unwrap_err();
            assert!(error.is_invalid(), "{error:?}");
            assert_eq!(
                error.to_string(),
                format!("count: {count} timestamps (accepted: 1 to 65536)")
            );
        }
        assert_eq!(Timestamps::new(device, 65_536).unwrap().count(), 65_536);
        assert!(timestamps.elapsed(0, 2).unwrap_err().is_invalid());
        let mut recorder = Recorder::new(device).unwrap();
        assert!(recorder.write_timestamp(timestamps, 2).unwrap_err().is_invalid());
    });
}

#[test]
fn timestamps_belong_to_one_device() {
    each_timed_device(|device, timestamps| {
        let other = Device::new(device.physical()).unwrap();
        let mut recorder = Recorder::new(&other).unwrap();
        assert!(recorder.write_timestamp(timestamps, 0).unwrap_err().is_invalid());
    });
}
