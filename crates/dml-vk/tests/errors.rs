//! Invalid requests are refused, with errors that name the problem.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::kernels::{changed, fill, plan, ramp, requirement, sum};
use common::{
    buffer, buffer_with, compile, each_device, part, try_bind, try_compile, try_compile_both,
};
use dml_core::HResult;
use dml_core::plan::{InPlace, Plan, Slot};
use dml_vk::{
    BindingTable, Bindings, BufferBinding, BufferDesc, BufferUsage, CompileInput, CompiledOperator,
    Device, Error, MemoryLocation, Recorder,
};

const OUT: Slot = Slot::Output(0);

fn invalid<T: std::fmt::Debug>(result: Result<T, Error>, wanted: &str) {
    let error = result.unwrap_err();
    assert!(error.is_invalid(), "{error:?}");
    assert_eq!(error.hresult(), HResult::E_INVALIDARG);
    assert!(error.to_string().contains(wanted), "`{error}` lacks `{wanted}`");
}

fn operator(device: &Device) -> CompiledOperator {
    let plan = Plan {
        inputs: vec![requirement("InputTensor", 256), None],
        temporary_size: 256,
        ..plan(256, vec![sum((OUT, 0..256), (Slot::Input(0), 0..256))])
    };
    compile(device, plan)
}

#[test]
fn a_binding_that_does_not_fit_is_named() {
    each_device(|device| {
        let compiled = operator(device);
        let (a, b, c) = (buffer(device, 1024), buffer(device, 1024), buffer(device, 1024));
        let check = |input, output, temporary: Option<BufferBinding<'_>>, wanted: &str| {
            let bindings = Bindings {
                inputs: &[input, None],
                outputs: &[output],
                temporary: temporary.as_slice(),
                persistent: &[],
            };
            invalid(BindingTable::new(&compiled, &bindings), wanted);
        };
        let (good_in, good_out, good_temp) = (part(&a, 0, 256), part(&b, 0, 256), part(&c, 0, 256));
        check(None, good_out, good_temp, "TEST: InputTensor: nothing is bound");
        check(good_in, None, good_temp, "TEST: OutputTensor: nothing is bound");
        check(good_in, good_out, None, "TEST: TemporaryResource: nothing is bound");
        check(
            good_in,
            part(&b, 8, 256),
            good_temp,
            "OutputTensor: offset 8 (accepted: a multiple of 16",
        );
        check(
            good_in,
            good_out,
            part(&c, 16, 256),
            "TemporaryResource: offset 16 (accepted: a multiple of 256",
        );
        check(
            good_in,
            part(&b, 0, 252),
            good_temp,
            "OutputTensor: a range of 252 bytes (accepted: at least 256",
        );
        check(
            good_in,
            part(&b, 784, 256),
            good_temp,
            "256 bytes at offset 784 (accepted: a range inside the buffer's 1024",
        );
        check(good_in, part(&b, u64::MAX - 15, 256), good_temp, "OutputTensor");
        check(
            good_in,
            part(&a, 240, 256),
            good_temp,
            "bytes 240..496 overlap InputTensor (bytes 0..256)",
        );
        check(
            good_in,
            good_out,
            part(&b, 0, 256),
            "TemporaryResource: bytes 0..256 overlap OutputTensor",
        );
        let source = buffer_with(device, 256, BufferUsage::TRANSFER_SRC, MemoryLocation::Device);
        check(
            part(&source, 0, 256),
            good_out,
            good_temp,
            "InputTensor: the buffer's usage is TRANSFER_SRC",
        );

        let bindings = Bindings { inputs: &[good_in], outputs: &[good_out], ..Bindings::default() };
        invalid(BindingTable::new(&compiled, &bindings), "inputs: 1 bindings given (accepted: 2");
        let inputs = [good_in, good_in];
        let bindings = Bindings { inputs: &inputs, outputs: &[good_out], ..Bindings::default() };
        invalid(BindingTable::new(&compiled, &bindings), "inputs[1]: a buffer is bound");
        // Disjoint parts of one buffer are fine.
        let bindings = Bindings {
            inputs: &[part(&a, 0, 256), None],
            outputs: &[part(&a, 256, 256)],
            temporary: &[BufferBinding { buffer: &a, offset: 512, size: 256 }],
            persistent: &[],
        };
        BindingTable::new(&compiled, &bindings).unwrap();
    });
}

#[test]
fn objects_of_another_device_are_refused() {
    each_device(|device| {
        let other = Device::new(device.physical()).unwrap();
        let (own, foreign) = (buffer(device, 256), buffer(&other, 256));
        let refused = "belongs to another device";
        invalid(device.write_buffer(&foreign, 0, &[1]), refused);
        invalid(device.read_buffer(&foreign, 0..4), refused);
        let mut recorder = Recorder::new(device).unwrap();
        invalid(recorder.copy_buffer(&own, 0, &foreign, 0, 4), refused);
        invalid(recorder.fill_buffer(&foreign, 0..4, 0), refused);
        let plan = plan(256, vec![ramp(OUT, 0..256, 0)]);
        let compiled = compile(&other, plan);
        let bind = |buffer| try_bind(&compiled, buffer, 0, 256);
        invalid(bind(&own), refused);
        invalid(recorder.dispatch(&bind(&foreign).unwrap()), refused);
        invalid(other.submit(recorder.finish().unwrap()), "another device");
    });
}

#[test]
fn ranges_outside_a_buffer_are_refused() {
    each_device(|device| {
        let buffer = buffer(device, 64);
        invalid(device.write_buffer(&buffer, 61, &[0; 4]), "bytes 61..65 are not inside its 64");
        invalid(device.write_buffer(&buffer, u64::MAX, &[0; 4]), "not inside");
        invalid(device.read_buffer(&buffer, 60..65), "bytes 60..65");
        #[allow(clippy::reversed_empty_ranges, reason = "that is the mistake")]
        invalid(device.read_buffer(&buffer, 8..4), "bytes 8..4");
        let mut recorder = Recorder::new(device).unwrap();
        invalid(recorder.copy_buffer(&buffer, 32, &buffer, 0, 33), "bytes 32..65");
        invalid(recorder.copy_buffer(&buffer, 0, &buffer, 16, 20), "would overlap");
        invalid(recorder.fill_buffer(&buffer, 0..6, 0), "multiples of 4");
        invalid(recorder.fill_buffer(&buffer, 0..68, 0), "bytes 0..68");
        let storage = buffer_with(device, 64, BufferUsage::STORAGE, MemoryLocation::Device);
        invalid(recorder.fill_buffer(&storage, 0..4, 0), "its usage is STORAGE");
        invalid(recorder.copy_buffer(&buffer, 0, &storage, 0, 4), "it needs TRANSFER_DST");
    });
}

#[test]
fn impossible_buffers_are_refused_before_the_driver_sees_them() {
    each_device(|device| {
        let create = |size, usage| {
            let location = MemoryLocation::Device;
            device.create_buffer(&BufferDesc { size, usage, location, name: "huge" })
        };
        invalid(create(0, BufferUsage::STORAGE), "buffer `huge`: its size is 0");
        invalid(create(4, BufferUsage::empty()), "its usage is empty");
        let limits = &device.capabilities().limits;
        let most = limits.max_buffer_size.min(limits.max_memory_allocation_size);
        for size in [most.saturating_add(1), u64::MAX] {
            let error = create(size, BufferUsage::STORAGE).unwrap_err();
            assert_eq!(error.hresult(), HResult::DXGI_ERROR_UNSUPPORTED);
            let Error::LimitExceeded { limit, needed, available, .. } = error else {
                panic!("{error:?}");
            };
            assert!(limit == "maxBufferSize" || limit == "maxMemoryAllocationSize");
            assert!(needed > available);
        }
    });
}

#[test]
fn room_for_more_than_memory_holds_is_refused_and_changes_nothing() {
    each_device(|device| {
        let mut recorder = Recorder::new(device).unwrap();
        let error = recorder.reserve(usize::MAX).unwrap_err();
        assert_eq!(error.to_string(), "out of host memory in Recorder::reserve");
        assert_eq!(error.hresult(), HResult::E_OUTOFMEMORY);
        recorder.reserve(1).unwrap();
        device.submit(recorder.finish().unwrap()).unwrap().wait().unwrap();
    });
}

#[test]
fn a_malformed_plan_is_our_own_defect() {
    each_device(|device| {
        let fill = |range| vec![fill(OUT, range, 0)];
        let groups = changed(ramp(OUT, 0..256, 0), |it| it.groups = [1, 0, 1]);
        let push = changed(ramp(OUT, 0..256, 0), |it| it.push_constants.truncate(11));
        let absent = ramp(Slot::Input(3), 0..4, 0);
        let steps = [fill(0..260), fill(0..6), vec![groups], vec![push], vec![absent], fill(8..8)];
        for exec in steps {
            let error = try_compile(device, plan(256, exec)).unwrap_err();
            assert!(matches!(error, Error::Internal { .. }), "{error:?}");
            assert_eq!(error.hresult(), HResult::E_UNEXPECTED);
        }
        let odd_resource = Plan { persistent_size: 6, ..plan(256, vec![]) };
        let output_at_initialization = Plan { init: fill(0..4), ..plan(256, vec![]) };
        let alias = vec![sum((OUT, 0..256), (Slot::Input(0), 0..256))];
        let reads_its_alias = Plan {
            inputs: vec![requirement("InputTensor", 256)],
            in_place: vec![InPlace::by_own_steps(0, 0, alias)],
            ..plan(256, vec![])
        };
        for plan in [odd_resource, output_at_initialization, reads_its_alias] {
            let error = try_compile(device, plan).unwrap_err();
            assert!(matches!(error, Error::Internal { .. }), "{error:?}");
        }
        let transfers = plan(256, fill(0..4));
        let input = CompileInput { plan: transfers.clone(), storage_only: Some(transfers.into()) };
        let compiled = try_compile_both(device, input).unwrap();
        let storage = buffer_with(device, 256, BufferUsage::STORAGE, MemoryLocation::Readback);
        let error = try_bind(&compiled, &storage, 0, 256).unwrap_err();
        assert!(matches!(error, Error::Internal { .. }), "{error:?}");
    });
}
