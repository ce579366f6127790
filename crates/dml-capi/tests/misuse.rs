//! Mistakes of C programs that the library detects: an error code, never undefined behaviour.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(unsafe_code, reason = "a C program's calls")]
#![allow(clippy::multiple_unsafe_ops_per_block, reason = "one promise holds for all of them")]

mod common;

use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use common::*;
use dmlvk::*;

#[test]
fn null_pointers_are_refused_by_name() {
    let device = create_device(0, 0, 0);
    let diagonal = Diagonal::new(1, &[2, 2], 16, 0, 1.0);
    let operator = diagonal.compiled(device);
    let mut handle = ptr::null_mut();
    let mut other = ptr::null_mut();
    let mut table = ptr::null_mut();
    // SAFETY: null is what every pointer of this interface may be.
    unsafe {
        let desc = device_desc();
        refused(dmlvk_create_device(ptr::null(), &raw mut handle), E_INVALIDARG, "desc: null");
        refused(
            dmlvk_create_device(&raw const desc, ptr::null_mut()),
            E_INVALIDARG,
            "device: null",
        );
        refused(dmlvk_wrap_device(ptr::null(), &raw mut handle), E_INVALIDARG, "desc: null");
        let null: *mut u8 = ptr::null_mut();
        let code = dmlvk_compile_operator(device, ptr::null(), 0, &raw mut other);
        refused(code, E_INVALIDARG, "DML_OPERATOR_DESC: null");
        let code = dmlvk_compile_operator(device, &raw const diagonal.operator, 0, null.cast());
        refused(code, E_INVALIDARG, "compiled: null");
        refused(dmlvk_get_binding_properties(operator, null.cast()), E_INVALIDARG, "properties");
        refused(dmlvk_create_buffer(device, 16, null.cast()), E_INVALIDARG, "buffer: null");
        let code = dmlvk_create_binding_table(operator, 1, ptr::null(), &raw mut table);
        refused(code, E_INVALIDARG, "bindings: null");
        let bindings = DmlVkBindings { output_count: 1, ..no_bindings() };
        let code = dmlvk_create_binding_table(operator, 1, &raw const bindings, &raw mut table);
        refused(code, E_INVALIDARG, "bindings.outputs: null, with 1 elements");
        let bindings = DmlVkBindings { reserved: 1, ..no_bindings() };
        let code = dmlvk_create_binding_table(operator, 1, &raw const bindings, &raw mut table);
        refused(code, E_INVALIDARG, "bindings.reserved: 1 (accepted: 0)");
        refused(dmlvk_get_access(ptr::null_mut()), E_INVALIDARG, "masks: null");
        refused(dmlvk_destroy_device(ptr::null_mut()), E_INVALIDARG, "device: the handle is null");
        let code = dmlvk_record_dispatch(dml::ash::vk::CommandBuffer::null(), ptr::null_mut());
        refused(code, E_INVALIDARG, "binding table: the handle is null");
        ok(dmlvk_destroy_device(device));
    }
    assert!(handle.is_null() && other.is_null() && table.is_null());
}

#[test]
fn numerics_are_exact_or_fast() {
    let create = |numerics, reserved| {
        try_create_device(&DmlVkDeviceDesc { numerics, reserved, ..device_desc() })
    };
    for numerics in [DMLVK_NUMERICS_EXACT, DMLVK_NUMERICS_FAST] {
        let (code, device) = create(numerics, 0);
        ok(code);
        // SAFETY: nothing was recorded.
        ok(unsafe { dmlvk_destroy_device(device) });
    }
    let (code, device) = create(2, 0);
    let accepted = "expected DMLVK_NUMERICS_EXACT (0) or DMLVK_NUMERICS_FAST (1)";
    refused(code, E_INVALIDARG, &format!("desc.numerics: 2, {accepted}"));
    assert!(device.is_null());
    refused(create(1, 7).0, E_INVALIDARG, "desc.reserved: 7 (accepted: 0)");
}

#[test]
fn wrong_sizes_and_unknown_values_are_refused() {
    let device = create_device(0, 0, 0);
    let create = |struct_size, minimum_feature_level, maximum_feature_level| {
        let (code, handle) = try_create_device(&DmlVkDeviceDesc {
            struct_size,
            minimum_feature_level,
            maximum_feature_level,
            ..device_desc()
        });
        assert!(handle.is_null());
        code
    };
    refused(create(0, 0, 0), E_INVALIDARG, "desc.struct_size: 0 (accepted: 40)");
    // A program of another version has a shorter struct: nothing after its size is read.
    let short = 24u32;
    // SAFETY: there is a size, which is not that of the struct.
    let (code, _) =
        made(|place| unsafe { dmlvk_create_device(ptr::from_ref(&short).cast(), place) });
    refused(code, E_INVALIDARG, "desc.struct_size: 24 (accepted: 40)");
    refused(create(40, 0x5300, 0), E_INVALIDARG, "minimum_feature_level: 0x5300");
    let code = create(40, 0x5000, 0x4000);
    refused(code, DXGI_ERROR_UNSUPPORTED, "minimum feature level 5_0");
    let compile = |data_type, sizes: &[u32], bytes, flags, wanted: &str| {
        let (code, operator) =
            Diagonal::new(data_type, sizes, bytes, 0, 1.0).compile(device, flags);
        refused(code, E_INVALIDARG, wanted);
        assert!(operator.is_null());
    };
    compile(0, &[2, 2], 16, 0, "OutputTensor.DataType: 0 is not a data type");
    compile(99, &[2, 2], 16, 0, "OutputTensor.DataType: 99");
    compile(1, &[2, 2], 15, 0, "TotalTensorSizeInBytes");
    compile(1, &[2, 0], 16, 0, "OutputTensor.Sizes[1]");
    compile(1, &[1; 9], 16, 0, "OutputTensor.DimensionCount: 9 is too large");
    compile(1, &[], 16, 0, "OutputTensor");
    compile(1, &[2, 2], 16, 8, "execution flags: 0x8");
    let mut flagged = Diagonal::new(1, &[2, 2], 16, 0, 1.0);
    flagged.buffer.Flags = 6;
    refused(flagged.compile(device, 0).0, E_INVALIDARG, "OutputTensor.Flags");
    let mut other_kind = Diagonal::new(1, &[2, 2], 16, 0, 1.0);
    other_kind.tensor.Type = 7;
    refused(other_kind.compile(device, 0).0, E_INVALIDARG, "OutputTensor.Type: 7");
    let mut no_tensor = Diagonal::new(1, &[2, 2], 16, 0, 1.0);
    no_tensor.desc.OutputTensor = ptr::null();
    refused(no_tensor.compile(device, 0).0, E_INVALIDARG, "OutputTensor");
    let mut unknown = Diagonal::new(1, &[2, 2], 16, 0, 1.0);
    unknown.operator.Type = 1000;
    refused(unknown.compile(device, 0).0, E_INVALIDARG, "1000 is not an operator");
    let image = Diagonal::new(1, &[1, 1, 2, 2], 16, 0, 1.0);
    let regions = Diagonal::new(1, &[1, 1, 1, 4], 16, 0, 1.0);
    let indices = Diagonal::new(3, &[1, 1, 1, 1], 4, 0, 1.0);
    let gradient = DML_ROI_ALIGN_GRAD_OPERATOR_DESC {
        InputTensor: ptr::null(),
        InputGradientTensor: &raw const *image.tensor,
        ROITensor: &raw const *regions.tensor,
        BatchIndicesTensor: &raw const *indices.tensor,
        OutputGradientTensor: ptr::null(),
        OutputROIGradientTensor: ptr::null(),
        ReductionFunction: 2,
        InterpolationMode: 1,
        SpatialScaleX: 1.0,
        SpatialScaleY: 1.0,
        InputPixelOffset: 0.5,
        OutputPixelOffset: -0.5,
        MinimumSamplesPerOutput: 1,
        MaximumSamplesPerOutput: 1,
        AlignRegionsToCorners: 0,
    };
    unknown.operator = DML_OPERATOR_DESC { Type: 150, Desc: (&raw const gradient).cast() };
    refused(unknown.compile(device, 0).0, E_INVALIDARG, "OutputGradientTensor: none is left out");
    // SAFETY: the query's size is wrong, so neither pointer is followed.
    let code =
        unsafe { dmlvk_check_feature_support(device, 1, 15, ptr::null(), 4, ptr::null_mut()) };
    refused(code, E_INVALIDARG, "query_data_size: 15 (accepted: 16)");
    // SAFETY: the feature is unknown, so neither pointer is followed.
    let code =
        unsafe { dmlvk_check_feature_support(device, 9, 4, ptr::null(), 4, ptr::null_mut()) };
    refused(code, DXGI_ERROR_UNSUPPORTED, "feature: 9");
    destroy(device);
}

/// The error that the header documents for dmlvk_create_device.
#[test]
fn an_unknown_device_is_a_wrong_argument_and_the_message_lists_the_devices() {
    for (name, said) in
        [(c"99", "no device 99"), (c"nothing", "no device whose name contains 'nothing'")]
    {
        let (code, handle) =
            try_create_device(&DmlVkDeviceDesc { device: name.as_ptr(), ..device_desc() });
        assert!(handle.is_null());
        refused(code, E_INVALIDARG, said);
        assert!(message().contains("; devices are: 0: "), "{}", message());
    }
}

#[test]
fn wrong_bindings_are_refused() {
    let device = create_device(0, 0, 0);
    let operator = Diagonal::new(1, &[4, 4], 64, 0, 1.0).compiled(device);
    let buffer = create_buffer(device, 128);
    let bind = |phase, outputs: &[DmlVkBufferBinding], wanted: &str| {
        let (code, table) = try_create_table(operator, phase, outputs);
        refused(code, E_INVALIDARG, wanted);
        assert!(table.is_null());
    };
    let at = |offset, size| DmlVkBufferBinding { buffer, offset, size };
    bind(1, &[at(8, 64)], "OutputTensor: offset 8 (accepted: a multiple of 16");
    bind(1, &[at(80, 64)], "64 bytes at offset 80");
    bind(1, &[at(0, 60)], "a range of 60 bytes");
    bind(1, &[nothing()], "OutputTensor: nothing is bound");
    bind(1, &[], "outputs: 0 bindings given");
    bind(1, &[at(0, 64), at(64, 64)], "bindings.outputs: 2 elements, more than 1");
    bind(5, &[at(0, 64)], "phase: 5 (accepted: 0, 1)");
    let stray = DmlVkBufferBinding { offset: 16, ..nothing() };
    bind(1, &[stray], "bindings.outputs.buffer: null, but not the rest");
    let foreign = DmlVkBufferBinding { buffer: operator.cast(), offset: 0, size: 64 };
    bind(1, &[foreign], "buffer: the handle is that of another kind: operator");
    refused(try_read(buffer, 120, 9).0, E_INVALIDARG, "9 bytes at offset 120");
    let byte = 0u8;
    // SAFETY: the range is refused before the pointer is used.
    let code =
        unsafe { dmlvk_write_buffer(buffer, u64::MAX, ptr::from_ref(&byte).cast(), u64::MAX) };
    refused(code, E_INVALIDARG, "offset, size");
    destroy(device);
}

#[test]
fn what_was_destroyed_is_known_to_be() {
    let device = create_device(0, 0, 0);
    let diagonal = Diagonal::new(1, &[2, 2], 16, 0, 1.0);
    let operator = diagonal.compiled(device);
    let buffer = create_buffer(device, 16);
    let output = DmlVkBufferBinding { buffer, offset: 0, size: 16 };
    let table = create_table(operator, &[output]);
    let gone = "the handle is unknown, or was destroyed";
    // The parent takes everything that was made from it along.
    destroy(device);
    refused(diagonal.compile(device, 0).0, E_INVALIDARG, gone);
    // SAFETY: the handles are looked up before anything is used.
    unsafe {
        let code = dmlvk_execute_operator(operator, ptr::null(), 0, &raw const output, 1);
        refused(code, E_INVALIDARG, gone);
        let commands = dml::ash::vk::Handle::from_raw(1);
        refused(dmlvk_record_dispatch(commands, table), E_INVALIDARG, gone);
        refused(dmlvk_destroy_binding_table(table), E_INVALIDARG, gone);
        refused(dmlvk_destroy_operator(operator), E_INVALIDARG, gone);
        refused(dmlvk_destroy_buffer(buffer), E_INVALIDARG, gone);
        refused(dmlvk_destroy_device(device), E_INVALIDARG, gone);
        refused(dmlvk_destroy_device(ptr::without_provenance_mut(3)), E_INVALIDARG, gone);
    }
    assert_eq!(dmlvk_get_device_removed_reason(device), E_INVALIDARG);
}

/// Threads that compile, bind and execute while one destroys the device: every call either works or
/// answers that its handle is gone.
#[test]
fn threads_that_race_with_a_destroy_get_codes() {
    for index in 0..device_count() {
        let device = create_device(index, 0, 0).addr();
        let destroyed = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for thread in 0..4u32 {
                let destroyed = &destroyed;
                scope.spawn(move || {
                    let device: DmlVkDevice = ptr::without_provenance_mut(device);
                    let diagonal =
                        Diagonal::new(6, &[3 + thread, 3], u64::from(36 + 12 * thread), 0, 5.0);
                    let mut rounds = 0;
                    while !destroyed.load(Ordering::SeqCst) || rounds == 0 {
                        let code = round(device, &diagonal);
                        assert!(code == 0 || code == E_INVALIDARG, "{}", message());
                        rounds += 1;
                    }
                    assert_eq!(round(device, &diagonal), E_INVALIDARG);
                });
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
            // SAFETY: nothing was recorded by a caller.
            let code = unsafe { dmlvk_destroy_device(ptr::without_provenance_mut(device)) };
            assert!(code == 0 || code == 1, "{}", message());
            destroyed.store(true, Ordering::SeqCst);
        });
    }
}

/// One round of an owning program; the first code that is not success.
fn round(device: DmlVkDevice, diagonal: &Diagonal) -> HRESULT {
    let (code, operator) = diagonal.compile(device, 0);
    if code != 0 {
        return code;
    }
    let size = diagonal.buffer.TotalTensorSizeInBytes;
    let (code, buffer) = try_create_buffer(device, size);
    if code != 0 {
        return code;
    }
    let code = execute(operator, DmlVkBufferBinding { buffer, offset: 0, size });
    if code != 0 {
        return code;
    }
    let (code, bytes) = try_read(buffer, 0, size.try_into().unwrap());
    if code == 0 {
        assert_eq!((bytes[0], bytes[4], bytes[16]), (5, 0, 5));
    }
    code
}
