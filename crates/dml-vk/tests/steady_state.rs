//! The steady state: many operators wait once, lists are submitted again, and a new shape compiles
//! nothing.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(unsafe_code, reason = "a counting allocator")]

mod common;
#[path = "common/counting.rs"]
mod counting;

use common::kernels::{plan, ramp};
use common::{buffer, compile, counts, each_device, each_injected_device, try_bind, words};
use counting::allocations;
use dml_core::plan::{Slot, Step};
use dml_vk::{BindingTable, Buffer, CompiledOperator, Device, Recorder};

/// An operator that writes `value`, `value + 1`, ... to `bytes` bytes.
fn operator(device: &Device, bytes: u64, value: u32) -> CompiledOperator {
    let steps = vec![ramp(Slot::Output(0), 0..bytes, value)];
    compile(device, plan(bytes, steps))
}

fn bind(operator: &CompiledOperator, buffer: &Buffer, offset: u64, size: u64) -> BindingTable {
    try_bind(operator, buffer, offset, size).unwrap()
}

#[test]
fn many_operators_are_one_submission_and_one_wait() {
    each_injected_device(|injector, device| {
        const COUNT: u32 = 100;
        let buffer = buffer(device, u64::from(COUNT) * 256);
        let tables: Vec<_> = (0..COUNT)
            .map(|index| {
                let operator = operator(device, 256, index * 64);
                bind(&operator, &buffer, u64::from(index) * 256, 256)
            })
            .collect();
        let mut recorder = Recorder::new(device).unwrap();
        recorder.reserve(tables.len()).unwrap();
        let before = allocations();
        for table in &tables {
            recorder.dispatch(table).unwrap();
        }
        assert_eq!(allocations(), before, "recording allocates");
        let list = recorder.finish().unwrap();
        assert_eq!(counts(injector, ["vkQueueSubmit", "vkWaitSemaphores"]), [0, 0]);
        let submission = device.submit(list).unwrap();
        submission.wait().unwrap();
        assert_eq!(counts(injector, ["vkQueueSubmit", "vkWaitSemaphores"]), [1, 1]);
        let found = words(&device.read_buffer(&buffer, 0..buffer.size()).unwrap());
        assert_eq!(found, (0..COUNT * 64).collect::<Vec<u32>>());
    });
}

#[test]
fn a_new_shape_compiles_no_pipeline() {
    each_injected_device(|injector, device| {
        operator(device, 256, 0);
        let made = || (counts(injector, ["vkCreateComputePipelines"]), device.pipeline_count());
        assert_eq!(made(), ([1], 1));
        for bytes in [4, 8, 252, 1024, 65_536] {
            operator(device, bytes, 1);
        }
        assert_eq!(made(), ([1], 1));
    });
}

#[test]
fn a_repeatable_list_can_be_submitted_again() {
    each_device(|device| {
        let buffer = buffer(device, 256);
        let table = bind(&operator(device, 256, 9), &buffer, 0, 256);
        let mut recorder = Recorder::repeatable(device).unwrap();
        recorder.dispatch(&table).unwrap();
        let mut list = recorder.finish().unwrap();
        for _ in 0..3 {
            device.write_buffer(&buffer, 0, &[0; 256]).unwrap();
            let submission = device.submit(list).unwrap();
            list = submission.into_list().unwrap();
            let found = words(&device.read_buffer(&buffer, 0..256).unwrap());
            assert_eq!(found, (9..73).collect::<Vec<u32>>());
        }
        let once = Recorder::new(device).unwrap().finish().unwrap();
        assert!(device.submit(once).unwrap().into_list().unwrap_err().is_invalid());
    });
}

#[test]
fn threads_that_compile_the_same_make_each_pipeline_once() {
    const KERNELS: u32 = 8;
    each_injected_device(|injector, device| {
        let step = |size| {
            let Step::Dispatch(mut dispatch) = ramp(Slot::Output(0), 0..256, 0) else {
                panic!("not a dispatch")
            };
            dispatch.kernel.specialization = vec![size];
            dispatch.groups = [64_u32.div_ceil(size), 1, 1];
            Step::Dispatch(dispatch)
        };
        let steps: Vec<_> = (1..=KERNELS).map(step).collect();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| compile(device, plan(256, steps.clone())));
            }
        });
        assert_eq!(device.pipeline_count(), 8);
        // Kernels of the same number of buffers have one layout.
        let made =
            ["vkCreateComputePipelines", "vkCreatePipelineLayout", "vkCreateDescriptorSetLayout"];
        assert_eq!(counts(injector, made), [8, 1, 1]);
    });
}
