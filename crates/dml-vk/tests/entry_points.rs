//! Every entry point is called through one replaceable table: calls can be counted and made to fail.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::kernels::{fill, plan, ramp};
use common::{bind, buffer, compile, counts, each_injected_device, one_at_a_time, try_compile};
use dml_core::HResult;
use dml_core::plan::Slot;
use dml_fault::{Fault, Injector};
use dml_vk::ash::vk;
use dml_vk::{BufferDesc, BufferUsage, Error, InstanceDesc, MemoryLocation, Recorder};

/// Every call of this name fails.
fn fail(injector: &Injector, name: &'static str, result: vk::Result) {
    injector.arm(Some(Fault::Named { name, first: 1, count: usize::MAX, result }));
}

#[test]
fn calls_are_counted_by_name() {
    each_injected_device(|injector, device| {
        const CREATE: &str = "vkCreateDevice";
        const ALLOCATE: &str = "vkAllocateMemory";
        let recorded = || counts(injector, ["vkCmdFillBuffer", "vkCmdDispatch", "vkQueueSubmit"]);
        assert_eq!(counts(injector, [CREATE]), [1]);
        let steps = vec![
            fill(Slot::Output(0), 0..512, 0),
            ramp(Slot::Output(0), 0..256, 1),
            ramp(Slot::Output(0), 256..512, 1),
        ];
        let compiled = compile(device, plan(512, steps));
        // The first buffer makes gpu-allocator allocate a block.
        assert_eq!(counts(injector, [ALLOCATE]), [0]);
        let buffer = buffer(device, 512);
        assert_eq!(counts(injector, [ALLOCATE]), [1]);
        let table = bind(&compiled, &buffer);
        let mut recorder = Recorder::new(device).unwrap();
        recorder.dispatch(&table).unwrap();
        recorder.barrier_all();
        recorder.dispatch(&table).unwrap();
        assert_eq!(recorded(), [2, 4, 0]);
        device.submit(recorder.finish().unwrap()).unwrap().wait().unwrap();
        assert_eq!(recorded(), [2, 4, 1]);
        assert_eq!(counts(injector, [ALLOCATE, CREATE]), [1, 1]);
    });
}

#[test]
fn the_creation_of_an_instance_passes_the_table() {
    let _guard = one_at_a_time();
    let injector = Injector::new().unwrap();
    fail(&injector, "vkCreateInstance", vk::Result::ERROR_INCOMPATIBLE_DRIVER);
    let desc = InstanceDesc { entry_points: injector.entry_points(), ..InstanceDesc::default() };
    let error = dml_vk::Instance::new(&desc).unwrap_err();
    assert!(matches!(error, Error::NoDevice { .. }), "{error:?}");
    assert!(error.to_string().contains("mesa-vulkan-drivers"), "{error}");
    assert_eq!(counts(&injector, ["vkCreateInstance"]), [1]);
}

#[test]
fn running_out_of_memory_fails_one_call_only() {
    each_injected_device(|injector, device| {
        let create = || {
            device.create_buffer(&BufferDesc {
                size: 1 << 20,
                usage: BufferUsage::all(),
                location: MemoryLocation::Device,
                name: "test",
            })
        };
        for (code, kind) in [
            (vk::Result::ERROR_OUT_OF_DEVICE_MEMORY, "device"),
            (vk::Result::ERROR_OUT_OF_HOST_MEMORY, "host"),
        ] {
            fail(injector, "vkAllocateMemory", code);
            let error = create().unwrap_err();
            assert!(error.is_out_of_memory(), "{error:?}");
            assert_eq!(error.hresult(), HResult::E_OUTOFMEMORY);
            assert_eq!(error.to_string(), format!("out of {kind} memory in vkAllocateMemory"));
        }
        injector.arm(None);
        let buffer = create().unwrap();
        device.write_buffer(&buffer, 0, &[1, 2, 3]).unwrap();
        assert_eq!(device.read_buffer(&buffer, 0..3).unwrap(), [1, 2, 3]);
    });
}

#[test]
fn a_submission_that_finds_no_memory_can_be_repeated() {
    each_injected_device(|injector, device| {
        let buffer = buffer(device, 64);
        let list = || {
            let mut recorder = Recorder::new(device).unwrap();
            recorder.fill_buffer(&buffer, 0..64, 0x0505_0505).unwrap();
            recorder.finish().unwrap()
        };
        fail(injector, "vkQueueSubmit", vk::Result::ERROR_OUT_OF_DEVICE_MEMORY);
        assert!(device.submit(list()).unwrap_err().is_out_of_memory());
        injector.arm(None);
        device.submit(list()).unwrap().wait().unwrap();
        assert_eq!(device.read_buffer(&buffer, 0..64).unwrap(), [5; 64]);
    });
}

#[test]
fn the_loss_of_a_device_is_sticky() {
    each_injected_device(|injector, device| {
        let buffer = buffer(device, 64);
        let mut recorder = Recorder::new(device).unwrap();
        recorder.fill_buffer(&buffer, 0..64, 1).unwrap();
        let earlier = device.submit(recorder.finish().unwrap()).unwrap();
        earlier.wait().unwrap();
        let list = Recorder::new(device).unwrap().finish().unwrap();
        fail(injector, "vkQueueSubmit", vk::Result::ERROR_DEVICE_LOST);
        let lost = |error: Error| {
            assert!(error.is_device_lost(), "{error:?}");
            assert_eq!(error.hresult(), HResult::DXGI_ERROR_DEVICE_REMOVED);
            assert!(error.to_string().contains("vkQueueSubmit"), "{error}");
        };
        lost(device.submit(list).unwrap_err());
        injector.arm(None);
        assert!(device.is_lost());
        lost(Recorder::new(device).unwrap_err());
        lost(device.read_buffer(&buffer, 0..4).unwrap_err());
        lost(device.write_buffer(&buffer, 0, &[1]).unwrap_err());
        lost(device.wait_idle().unwrap_err());
        lost(earlier.wait().unwrap_err());
        lost(earlier.is_complete().unwrap_err());
        let steps = vec![ramp(Slot::Output(0), 0..64, 0)];
        lost(try_compile(device, plan(64, steps)).unwrap_err());
        let again = BufferDesc {
            size: 4,
            usage: BufferUsage::STORAGE,
            location: MemoryLocation::Device,
            name: "test",
        };
        lost(device.create_buffer(&again).unwrap_err());
        // Nothing was asked of the driver that could tell of the loss.
        assert!(injector.calls().iter().all(|call| call.failures().is_empty()));
    });
}
