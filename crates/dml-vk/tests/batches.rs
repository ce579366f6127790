//! Lists of more work than a batch may have: several batches of one submission, which give the same bytes.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::kernels::{changed, copy, fill, plan, ramp, sum};
use common::{bind, buffer, compile, counts, each_device_with, one_at_a_time, words};
use dml_core::plan::{Cost, Slot, Step, Update, WorkBound};
use dml_fault::{Fault, Injector};
use dml_vk::ash::vk;
use dml_vk::{Device, DeviceDesc, DeviceType, Error, InstanceDesc, QueueChoice, Recorder};

const OUT: Slot = Slot::Output(0);
const SIZE: u64 = 1 << 16;
/// The work of [`steps`]: fills count 4 operations for a byte, copies 8.
const WORK: [u64; 5] = [4 * SIZE, 1000, 1000, 4 * SIZE, 32];

/// Each needs those before it.
fn steps() -> Vec<Step> {
    let work = |step| changed(step, |it| it.cost = Cost { operations: 1000, bytes: 0 });
    vec![
        fill(OUT, 0..SIZE, 7),
        work(ramp(OUT, 0..SIZE / 2, 0)),
        work(sum((OUT, SIZE / 2..SIZE), (OUT, 0..SIZE / 2))),
        copy((OUT, SIZE / 2), (OUT, 0), SIZE / 2),
        Step::Update(Update { slot: OUT, offset: 4, data: vec![1; 8] }),
    ]
}

fn expected() -> Vec<u32> {
    let half: Vec<u32> = (7..7 + (1 << 13)).collect();
    let mut expected = [half.clone(), half].concat();
    expected[1..3].fill(0x0101_0101);
    expected
}

/// Runs `test` on every device whose batches have at most so much work.
fn each_bounded_device(batch: u64, test: impl Fn(&Injector, &Device)) {
    let _guard = one_at_a_time();
    let injector = Injector::new().unwrap();
    let entry_points = injector.entry_points();
    let instance = InstanceDesc { entry_points, ..InstanceDesc::default() };
    let work_bound = Some(WorkBound { dispatch: u64::MAX, batch });
    let desc = DeviceDesc { work_bound, ..DeviceDesc::default() };
    each_device_with(instance, &desc, |device| {
        test(&injector, device);
        injector.arm(None);
    });
    assert_eq!(injector.live_objects(), []);
}

#[test]
fn a_list_above_the_bound_is_batches_of_one_submission() {
    let [first, .., last] = WORK;
    // None; as much as the largest step; nothing: every step by itself.
    for (bound, batches) in
        [(u64::MAX, 1), (first + 2000 + 4 * SIZE, 2), (first, 4), (last, 5), (1, 5)]
    {
        each_bounded_device(bound, |injector, device| {
            assert_eq!(device.work_bound().batch, bound);
            let compiled = compile(device, plan(SIZE, steps()));
            let buffer = buffer(device, SIZE);
            let table = bind(&compiled, &buffer);
            let mut last_value = None;
            let mut recorder = Recorder::repeatable(device).unwrap();
            injector.arm(None);
            recorder.dispatch(&table).unwrap();
            let mut list = recorder.finish().unwrap();
            assert_eq!(list.batch_count(), batches, "{bound}");
            // The first one is begun with the recorder.
            assert_eq!(counts(injector, ["vkBeginCommandBuffer"]), [batches - 1]);
            for _ in 0..3 {
                device.write_buffer(&buffer, 0, &[0xEE; 1 << 16]).unwrap();
                injector.arm(None);
                let submission = device.submit(list).unwrap();
                assert_eq!(counts(injector, ["vkQueueSubmit"]), [1]);
                let value = submission.timeline_value();
                list = submission.into_list().unwrap();
                assert!(words(&device.read_buffer(&buffer, 0..SIZE).unwrap()) == expected());
                // Each batch signals a value.
                let before: u64 = last_value.replace(value).unwrap_or(0);
                assert!(value >= before + batches as u64);
            }
        });
    }
}

#[test]
fn transfers_of_a_recorder_count_as_work() {
    each_bounded_device(2 * 4 * 1024, |_, device| {
        let buffer = buffer(device, 4096);
        let mut recorder = Recorder::new(device).unwrap();
        for part in 0..4_u32 {
            let start = u64::from(part) * 1024;
            recorder.fill_buffer(&buffer, start..start + 1024, part).unwrap();
        }
        recorder.barrier_all();
        // As much work as two fills.
        recorder.copy_buffer(&buffer, 1024, &buffer, 0, 1024).unwrap();
        let list = recorder.finish().unwrap();
        assert_eq!(list.batch_count(), 3);
        device.submit(list).unwrap().wait().unwrap();
        let found = words(&device.read_buffer(&buffer, 0..4096).unwrap());
        assert!(found.chunks(256).zip([1, 1, 2, 3]).all(|(words, it)| words == [it; 256]));
    });
}

#[test]
fn where_a_batch_cannot_be_begun_nothing_is_recorded() {
    each_bounded_device(1, |injector, device| {
        let compiled = compile(device, plan(SIZE, steps()));
        let buffer = buffer(device, SIZE);
        let table = bind(&compiled, &buffer);
        device.write_buffer(&buffer, 0, &[0; 1 << 16]).unwrap();
        let result = vk::Result::ERROR_OUT_OF_HOST_MEMORY;
        // The second one first: what was allocated stays in the pool.
        for (name, first) in [("vkAllocateCommandBuffers", 2), ("vkBeginCommandBuffer", 3)] {
            let mut recorder = Recorder::new(device).unwrap();
            injector.arm(Some(Fault::Named { name, first, count: 1, result }));
            let error = recorder.dispatch(&table).unwrap_err();
            assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
            injector.arm(None);
            let list = recorder.finish().unwrap();
            assert_eq!(list.batch_count(), 1);
            device.submit(list).unwrap().wait().unwrap();
            assert!(words(&device.read_buffer(&buffer, 0..SIZE).unwrap()) == vec![0; 1 << 14]);
        }
    });
}

#[test]
fn the_bound_of_a_device_is_that_of_its_type_unless_another_is_asked_for() {
    each_device_with(InstanceDesc::default(), &DeviceDesc::default(), |device| {
        assert_eq!(device.work_bound(), device.info().device_type.work_bound());
    });
    assert_eq!(DeviceType::Cpu.work_bound(), WorkBound::NONE);
    let [discrete, integrated] =
        [DeviceType::Discrete, DeviceType::Integrated].map(DeviceType::work_bound);
    assert!(integrated.dispatch < discrete.dispatch && discrete.dispatch < discrete.batch);
    assert!(discrete.batch < u64::MAX);
}

#[test]
fn a_queue_family_can_be_chosen() {
    for queue in [QueueChoice::ComputeOnly, QueueChoice::First] {
        let desc = DeviceDesc { queue, ..DeviceDesc::default() };
        each_device_with(InstanceDesc::default(), &desc, |device| {
            let family = device.queue_family();
            let desc = DeviceDesc { queue: QueueChoice::Family(family), ..DeviceDesc::default() };
            let same = Device::with_desc(device.physical(), &desc).unwrap();
            assert_eq!(same.queue_family(), family);
            let desc = DeviceDesc { queue: QueueChoice::Family(77), ..DeviceDesc::default() };
            let error = Device::with_desc(device.physical(), &desc).unwrap_err();
            assert!(error.to_string().contains("no queue family 77"), "{error}");
        });
    }
}
