//! Plans give the bytes that they say, wherever their buffers are bound.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::kernels::{
    RAMP, SUM, changed, copy, fill, plan, ramp, ramp_of_size_in, requirement, sum,
};
use common::{
    buffer, buffer_with, compile, each_device, execute, run, try_bind, try_compile,
    try_compile_both, words,
};
use dml_core::capabilities::Limit;
use dml_core::kernel::{KernelDescription, KernelModule, Shared};
use dml_core::plan::{Copy, CopyRegion, Divisions, KernelKey, Plan, Slot, Step, Update};
use dml_vk::{
    BindingTable, Bindings, Buffer, BufferBinding, BufferUsage, CompileInput, CompiledOperator,
    Error, LowerPlan, MemoryLocation, Recorder, Result,
};

const OUT: Slot = Slot::Output(0);
const IN: Slot = Slot::Input(0);

fn bind(compiled: &CompiledOperator, buffer: &Buffer, offset: u64) -> Result<BindingTable> {
    try_bind(compiled, buffer, offset, buffer.size() - offset)
}

#[test]
fn a_kernel_writes_its_window_wherever_it_is_bound() {
    each_device(|device| {
        let compiled = compile(device, plan(400, vec![ramp(OUT, 20..380, 1000)]));
        for offset in [0, 16, 240, 256, 272, 4096 + 48] {
            let buffer = buffer(device, 8192);
            device.write_buffer(&buffer, 0, &[0xEE; 8192]).unwrap();
            execute(device, &bind(&compiled, &buffer, offset).unwrap());
            let mut expected = vec![0xEEEE_EEEE; 2048];
            let first = usize::try_from(offset / 4 + 5).unwrap();
            for (value, word) in (1000..).zip(&mut expected[first..first + 90]) {
                *word = value;
            }
            assert_eq!(words(&device.read_buffer(&buffer, 0..8192).unwrap()), expected, "{offset}");
        }
    });
}

#[test]
fn steps_that_depend_on_each_other_are_ordered() {
    each_device(|device| {
        let size = 1 << 20;
        let steps = vec![
            fill(OUT, 0..size, 7),
            ramp(OUT, 0..size / 2, 0),
            sum((OUT, size / 2..size), (OUT, 0..size / 2)),
            copy((OUT, size / 2), (OUT, 0), size / 2),
            Step::Update(Update { slot: OUT, offset: 4, data: vec![1; 8] }),
        ];
        let compiled = compile(device, plan(size, steps));
        let buffer = buffer(device, size);
        let table = bind(&compiled, &buffer, 0).unwrap();
        for _ in 0..3 {
            execute(device, &table);
            let half: Vec<u32> = (7..7 + (1 << 17)).collect();
            let mut expected = [half.clone(), half].concat();
            expected[1..3].fill(0x0101_0101);
            assert!(words(&device.read_buffer(&buffer, 0..size).unwrap()) == expected);
        }
    });
}

#[test]
fn thousands_of_windows_are_bound_at_once() {
    each_device(|device| {
        let first_word = |index: u64| u32::try_from(index * 64).unwrap();
        let step = |index| ramp(OUT, index * 256..(index + 1) * 256, first_word(index));
        let compiled = compile(device, plan(5000 * 256, (0..5000).map(step).collect()));
        assert_eq!(compiled.binding_properties().required_descriptor_count, 5000);
        let buffer = buffer(device, 5000 * 256);
        execute(device, &bind(&compiled, &buffer, 0).unwrap());
        let result = words(&device.read_buffer(&buffer, 0..5000 * 256).unwrap());
        assert!(result.into_iter().eq(0..5000 * 64));
    });
}

/// Output = input + constants + what initialization left in the persistent resource.
fn with_every_slot() -> Plan {
    Plan {
        inputs: vec![requirement("InputTensor", 512), None],
        init: vec![ramp(Slot::Persistent, 0..512, 100)],
        temporary_size: 512,
        persistent_size: 512,
        constants: (0..128_u32).flat_map(|word| (word * 1000).to_le_bytes()).collect(),
        ..plan(
            512,
            vec![
                copy((IN, 0), (Slot::Temporary, 0), 512),
                sum((Slot::Temporary, 0..512), (Slot::Constants, 0..512)),
                sum((Slot::Temporary, 0..512), (Slot::Persistent, 0..512)),
                copy((Slot::Temporary, 0), (OUT, 0), 512),
            ],
        )
    }
}

#[test]
fn every_slot_is_bound_to_its_buffer() {
    each_device(|device| {
        let compiled = compile(device, with_every_slot());
        assert!(compiled.needs_initialization());
        let properties = compiled.binding_properties();
        assert_eq!(properties.required_descriptor_count, 4);
        assert_eq!(properties.temporary_resource_size, 512);
        assert_eq!(properties.persistent_resource_size, 512);
        let buffers = [(); 4].map(|()| buffer(device, 1024));
        let [input, output, temporary, persistent] = &buffers;
        device.write_buffer(input, 0, &[1, 0, 0, 0].repeat(256)).unwrap();
        let part = |buffer, offset| BufferBinding { buffer, offset, size: 512 };
        let bindings = Bindings {
            inputs: &[Some(part(input, 16)), None],
            outputs: &[Some(part(output, 512))],
            temporary: &[part(temporary, 256)],
            persistent: &[part(persistent, 512)],
        };
        let initialize = Bindings { inputs: &[], outputs: &[], ..bindings };
        let initialize = BindingTable::for_initialization(&compiled, &initialize).unwrap();
        let table = BindingTable::new(&compiled, &bindings).unwrap();
        run(device, |recorder| recorder.initialize(&initialize));
        execute(device, &table);
        let expected: Vec<u32> = (0..128).map(|word| 101 + word * 1001).collect();
        assert_eq!(words(&device.read_buffer(output, 512..1024).unwrap()), expected);
    });
}

/// As [`with_every_slot`], with both resources divided in the middle.
fn divided() -> Plan {
    let halves = [0..256, 256..512];
    let init = halves.clone().map(|it| {
        let first = 100 + u32::try_from(it.start / 4).unwrap();
        ramp(Slot::Persistent, it, first)
    });
    let of_half = |half: Range<u64>| {
        let bytes = |slot| (slot, half.clone());
        [
            copy((IN, half.start), (Slot::Temporary, half.start), 256),
            sum(bytes(Slot::Temporary), bytes(Slot::Constants)),
            sum(bytes(Slot::Temporary), bytes(Slot::Persistent)),
            copy((Slot::Temporary, half.start), (OUT, half.start), 256),
        ]
    };
    Plan {
        init: init.to_vec(),
        exec: halves.into_iter().flat_map(of_half).collect(),
        divisions: Divisions { temporary: vec![256], persistent: vec![256] },
        ..with_every_slot()
    }
}

#[test]
fn a_divided_resource_is_in_one_buffer_or_in_several() {
    each_device(|device| {
        let compiled = compile(device, divided());
        assert_eq!(compiled.temporary_buffers(BufferUsage::all()), [256, 256]);
        assert_eq!(compiled.persistent_buffers(), [256, 256]);
        let buffers = [(); 6].map(|()| buffer(device, 1024));
        let [input, output, resources @ ..] = &buffers;
        device.write_buffer(input, 0, &[1, 0, 0, 0].repeat(256)).unwrap();
        let part = |buffer, offset, size| BufferBinding { buffer, offset, size };
        let [one, other] = [&resources[..2], &resources[2..]]
            .map(|it| [part(&it[0], 256, 256), part(&it[1], 512, 256)]);
        let whole = [&resources[0], &resources[2]].map(|it| [part(it, 256, 512)]);
        for [temporary, persistent] in [[&one[..], &other[..]], whole.each_ref().map(|it| &it[..])]
        {
            device.write_buffer(output, 0, &[0; 1024]).unwrap();
            let bindings = Bindings {
                inputs: &[Some(part(input, 16, 512)), None],
                outputs: &[Some(part(output, 512, 512))],
                temporary,
                persistent,
            };
            let initialize = Bindings { inputs: &[], outputs: &[], ..bindings };
            let initialize = BindingTable::for_initialization(&compiled, &initialize).unwrap();
            run(device, |recorder| recorder.initialize(&initialize));
            execute(device, &BindingTable::new(&compiled, &bindings).unwrap());
            let expected: Vec<u32> = (0..128).map(|word| 101 + word * 1001).collect();
            assert_eq!(words(&device.read_buffer(output, 512..1024).unwrap()), expected);
        }
        let too_small =
            Bindings { temporary: &[part(&resources[0], 0, 256)], ..Bindings::default() };
        let error = BindingTable::for_initialization(&compiled, &too_small).unwrap_err();
        let expected =
            "TEST: TemporaryResource: a range of 256 bytes (accepted: at least 512 bytes)";
        assert_eq!(error.to_string(), expected);
        let overlapping = [part(&resources[0], 0, 256); 2];
        let bindings =
            Bindings { temporary: &overlapping, persistent: &other, ..Bindings::default() };
        let error = BindingTable::for_initialization(&compiled, &bindings).unwrap_err();
        assert!(error.to_string().starts_with("TEST: TemporaryResource[1]: bytes"), "{error}");
    });
}

#[test]
fn buffers_without_transfer_usage_get_the_plan_of_dispatches() {
    each_device(|device| {
        let transfers = plan(256, vec![fill(OUT, 0..256, 9)]);
        let dispatches = plan(256, vec![ramp(OUT, 0..256, 9)]);
        let input = CompileInput { plan: transfers.clone(), storage_only: Some(dispatches.into()) };
        let compiled = try_compile_both(device, input).unwrap();
        let table = bind(&compiled, &buffer(device, 256), 0).unwrap();
        assert!(table.uses_preferred_plan());
        let storage = buffer_with(device, 256, BufferUsage::STORAGE, MemoryLocation::Readback);
        let table = bind(&compiled, &storage, 0).unwrap();
        assert!(!table.uses_preferred_plan());
        execute(device, &table);
        let result = words(&device.read_buffer(&storage, 0..256).unwrap());
        assert_eq!(result, (9..73).collect::<Vec<_>>());

        let error = bind(&compile(device, transfers), &storage, 0).unwrap_err();
        assert_eq!(
            error.to_string(),
            "TEST: OutputTensor: the buffer's usage is STORAGE \
             (accepted: a usage with STORAGE | TRANSFER_DST)"
        );
    });
}

/// Nothing else asks for it: neither compiling, nor buffers with transfers, nor what these need.
#[test]
fn the_plan_of_dispatches_is_made_once_when_such_buffers_are_bound() {
    each_device(|device| {
        let count = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&count);
        let storage_only = LowerPlan::new(move || {
            counter.fetch_add(1, Ordering::Relaxed);
            Ok(Plan { temporary_size: 512, ..plan(256, vec![ramp(OUT, 0..256, 9)]) })
        });
        let transfers = plan(256, vec![fill(OUT, 0..256, 9)]);
        let input = CompileInput { plan: transfers, storage_only: Some(storage_only) };
        let compiled = try_compile_both(device, input).unwrap();
        bind(&compiled, &buffer(device, 256), 0).unwrap();
        let with_transfers = compiled.binding_properties_for(BufferUsage::all());
        assert_eq!(
            (with_transfers.temporary_resource_size, compiled.needs_initialization()),
            (0, false)
        );
        assert_eq!(count.load(Ordering::Relaxed), 0);

        let storage = buffer_with(device, 256, BufferUsage::STORAGE, MemoryLocation::Readback);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let error = bind(&compiled, &storage, 0).unwrap_err().to_string();
                    let expected = "TEST: TemporaryResource: nothing is bound \
                                    (accepted: a buffer range of at least 512 bytes)";
                    assert_eq!(error, expected);
                });
            }
        });
        assert_eq!(compiled.binding_properties().temporary_resource_size, 512);
        assert_eq!(count.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn a_plan_of_dispatches_that_the_device_cannot_carry_is_refused_at_binding() {
    each_device(|device| {
        let limit = || dml_core::Error::DeviceLimit {
            operator: "TEST",
            field: "OutputTensor",
            needed: 2,
            unit: "bytes",
            limit: "maxStorageBufferRange",
            available: 1,
        };
        let storage_only = Some(LowerPlan::new(move || Err(limit())));
        let transfers = plan(256, vec![fill(OUT, 0..256, 9)]);
        let compiled =
            try_compile_both(device, CompileInput { plan: transfers, storage_only }).unwrap();
        bind(&compiled, &buffer(device, 256), 0).unwrap();
        let storage = buffer_with(device, 256, BufferUsage::STORAGE, MemoryLocation::Readback);
        let error = bind(&compiled, &storage, 0).unwrap_err();
        assert_eq!(
            error.to_string(),
            "TEST: OutputTensor: the buffer's usage is STORAGE, and without transfers the device \
             cannot execute it: TEST: OutputTensor: needs 2, but maxStorageBufferRange of this device \
             is 1 (accepted: a usage with STORAGE | TRANSFER_DST)"
        );
    });
}

#[test]
fn a_plan_of_transfers_alone_needs_no_descriptors() {
    each_device(|device| {
        let compiled = compile(device, plan(64, vec![fill(OUT, 0..64, 3)]));
        assert_eq!(compiled.binding_properties(), dml_vk::BindingProperties::default());
        let buffer = buffer(device, 64);
        execute(device, &bind(&compiled, &buffer, 0).unwrap());
        assert_eq!(words(&device.read_buffer(&buffer, 0..64).unwrap()), [3; 16]);
    });
}

#[test]
fn one_table_is_recorded_many_times() {
    each_device(|device| {
        let compiled = compile(device, plan(256, vec![ramp(OUT, 0..256, 1)]));
        let (first, second) = (buffer(device, 256), buffer(device, 256));
        let tables = [bind(&compiled, &first, 0).unwrap(), bind(&compiled, &second, 0).unwrap()];
        let mut recorder = Recorder::new(device).unwrap();
        for _ in 0..3 {
            for table in &tables {
                recorder.dispatch(table).unwrap();
            }
            recorder.barrier_all();
        }
        device.submit(recorder.finish().unwrap()).unwrap().wait().unwrap();
        for buffer in [&first, &second] {
            let result = words(&device.read_buffer(buffer, 0..256).unwrap());
            assert_eq!(result, (1..65).collect::<Vec<_>>());
        }
    });
}

#[test]
fn kernels_keep_the_limits_of_the_device() {
    each_device(|device| {
        let limits = &device.capabilities().limits;
        let with_size = |variant: &Shared<KernelModule>, size| {
            let kernel = KernelKey { variant: variant.clone(), specialization: vec![size] };
            let step = changed(ramp(OUT, 0..256, 1), |it| it.kernel = kernel);
            try_compile(device, plan(256, vec![step]))
        };
        let refused = |variant: &Shared<KernelModule>, size, needed: u64, limit: Limit| {
            let error = with_size(variant, size).unwrap_err();
            assert!(error.is_unsupported());
            let (name, available) = (limit.name(), limits.get(limit));
            let expected =
                format!("kernel ramp: needs {needed}, but {name} of this device is {available}");
            assert_eq!(error.to_string(), expected);
        };
        let most = limits.max_compute_work_group_invocations;
        let axes = [
            ([true, false, false], Limit::MaxComputeWorkGroupSizeX),
            ([false, true, false], Limit::MaxComputeWorkGroupSizeY),
            ([false, false, true], Limit::MaxComputeWorkGroupSizeZ),
        ];
        for (axes, limit) in axes {
            let variant = ramp_of_size_in(axes);
            let size = u32::try_from(limits.get(limit)).unwrap();
            with_size(&variant, size.min(most)).unwrap();
            refused(&variant, size + 1, u64::from(size) + 1, limit);
        }
        let size = most.isqrt() + 1;
        let needed = u64::from(size).pow(2);
        let square = ramp_of_size_in([true, true, false]);
        refused(&square, size, needed, Limit::MaxComputeWorkGroupInvocations);
    });
}

#[test]
fn two_kernels_of_one_name_are_two_pipelines() {
    each_device(|device| {
        let named = |step, of: &KernelModule| {
            let like = of.description().clone();
            let variant = KernelModule::new(KernelDescription { name: "one name".into(), ..like });
            changed(step, |it| it.kernel.variant = variant.into())
        };
        let first = named(ramp(OUT, 0..256, 5), &RAMP);
        let second = named(sum((OUT, 256..512), (OUT, 0..256)), &SUM);
        let buffer = buffer(device, 512);
        device.write_buffer(&buffer, 0, &[0; 512]).unwrap();
        for steps in [vec![first.clone()], vec![second.clone()], vec![first, second]] {
            execute(device, &bind(&compile(device, plan(512, steps)), &buffer, 0).unwrap());
        }
        let expected: Vec<u32> = (5..69).chain((5..69).map(|word| 2 * word)).collect();
        assert_eq!(words(&device.read_buffer(&buffer, 0..512).unwrap()), expected);
        assert_eq!(device.pipeline_count(), 2);
    });
}

#[test]
fn a_copy_whose_regions_touch_each_other_is_refused() {
    each_device(|device| {
        let twice = vec![CopyRegion::once(0, 128, 64), CopyRegion::once(64, 160, 64)];
        let onto_itself = vec![CopyRegion::once(0, 32, 64)];
        for regions in [twice, onto_itself] {
            let copy = Copy { source: OUT, destination: OUT, regions };
            let error = try_compile(device, plan(256, vec![Step::Copy(copy)])).unwrap_err();
            assert!(matches!(error, Error::Internal { .. }), "{error:?}");
            assert!(error.to_string().contains("overlap (accepted: regions"), "{error}");
        }
        compile(device, plan(256, vec![copy((OUT, 0), (OUT, 64), 64)]));
    });
}
