//! Owning mode through the C functions, on every device.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(unsafe_code, reason = "a C program's calls")]

mod common;

use std::ptr;

use common::*;
use dmlvk::*;

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|it| f32::from_le_bytes(it.try_into().unwrap())).collect()
}

#[test]
fn an_operator_is_executed_in_one_call() {
    for index in 0..device_count() {
        let device = create_device(index, 0x5000, 0);
        let operator = Diagonal::new(1, &[2, 3], 24, 1, 7.5).compiled(device);
        let mut properties =
            DML_BINDING_PROPERTIES { RequiredDescriptorCount: 99, ..Default::default() };
        // SAFETY: there is a place for the answer.
        ok(unsafe { dmlvk_get_binding_properties(operator, &raw mut properties) });
        assert!(properties.RequiredDescriptorCount < 99);
        let buffer = create_buffer(device, 256);
        ok(write(buffer, 0, &[0xAA; 256]));
        let output = DmlVkBufferBinding { buffer, offset: 64, size: 24 };
        ok(execute(operator, output));
        assert_eq!(floats(&read(buffer, 64, 24)), [0.0, 7.5, 0.0, 0.0, 0.0, 7.5]);
        assert_eq!(read(buffer, 0, 64), [0xAA; 64]);
        assert_eq!(read(buffer, 88, 168), [0xAA; 168]);
        let output = DmlVkBufferBinding { buffer, offset: 128, size: 24 };
        let (code, submission) = submit(operator, output);
        ok(code);
        let mut completed = 0;
        // SAFETY: there is a place for the answer.
        ok(unsafe { dmlvk_wait_submission(submission, u64::MAX, &raw mut completed) });
        assert_eq!(completed, 1);
        ok(dmlvk_destroy_submission(submission));
        assert_eq!(floats(&read(buffer, 128, 24))[1], 7.5);
        assert_eq!(dmlvk_get_device_removed_reason(device), 0);
        destroy(device);
    }
}

/// 9 on the diagonal of a 2 x 2 input of 32-bit floats.
fn diagonal_on_input(device: DmlVkDevice, input_flags: u32) -> DmlVkOperator {
    let sizes = [2u32, 2];
    let buffer_desc = |flags| DML_BUFFER_TENSOR_DESC {
        DataType: 1,
        Flags: flags,
        DimensionCount: 2,
        Sizes: sizes.as_ptr(),
        Strides: ptr::null(),
        TotalTensorSizeInBytes: 16,
        GuaranteedBaseOffsetAlignment: 0,
    };
    let (input, output) = (buffer_desc(input_flags), buffer_desc(0));
    let input = DML_TENSOR_DESC { Type: 1, Desc: ptr::from_ref(&input).cast() };
    let output = DML_TENSOR_DESC { Type: 1, Desc: ptr::from_ref(&output).cast() };
    let mut value = DML_SCALAR_UNION { Bytes: [0; 8] };
    value.Bytes[..4].copy_from_slice(&9f32.to_le_bytes());
    let desc = DML_DIAGONAL_MATRIX1_OPERATOR_DESC {
        InputTensor: &raw const input,
        OutputTensor: &raw const output,
        ValueDataType: 1,
        Value: value,
        DiagonalFillBegin: 0,
        DiagonalFillEnd: 1,
    };
    let desc = DML_OPERATOR_DESC { Type: 163, Desc: ptr::from_ref(&desc).cast() };
    // SAFETY: the descriptor is complete.
    let (code, operator) =
        made(|place| unsafe { dmlvk_compile_operator(device, &raw const desc, 0, place) });
    ok(code);
    operator
}

/// An input that is OWNED_BY_DML goes through the initializer.
#[test]
fn an_owned_input_is_initialized_once() {
    for index in 0..device_count() {
        let device = create_device(index, 0, 0);
        let operator = diagonal_on_input(device, 1);
        let mut needed = 0;
        // SAFETY: there is a place for the answer.
        ok(unsafe { dmlvk_needs_initialization(operator, &raw mut needed) });
        assert_eq!(needed, 1);
        let buffer = create_buffer(device, 512);
        let bytes: Vec<u8> = [1f32, 2.0, 3.0, 4.0].into_iter().flat_map(f32::to_le_bytes).collect();
        ok(write(buffer, 0, &bytes));
        let input = DmlVkBufferBinding { buffer, offset: 0, size: 16 };
        let outputs = DmlVkBufferBinding { buffer, offset: 256, size: 16 };
        let inputs = nothing();
        // SAFETY: there is one binding each.
        let early = unsafe {
            dmlvk_execute_operator(operator, &raw const inputs, 1, &raw const outputs, 1)
        };
        refused(early, E_INVALIDARG, "not initialized");
        // SAFETY: there is one binding.
        ok(unsafe { dmlvk_initialize_operator(operator, &raw const input, 1) });
        // SAFETY: there is one binding each.
        ok(unsafe {
            dmlvk_execute_operator(operator, &raw const inputs, 1, &raw const outputs, 1)
        });
        assert_eq!(floats(&read(buffer, 256, 16)), [9.0, 2.0, 3.0, 9.0]);
        destroy(device);
    }
}

#[test]
fn an_input_that_may_be_the_output_is_bound_to_exactly_its_range() {
    for index in 0..device_count() {
        let device = create_device(index, 0, 0);
        let operator = diagonal_on_input(device, 0);
        let buffer = create_buffer(device, 512);
        let bytes: Vec<u8> = [1f32, 2.0, 3.0, 4.0].into_iter().flat_map(f32::to_le_bytes).collect();
        ok(write(buffer, 16, &bytes));
        let execute = |input: DmlVkBufferBinding, output: DmlVkBufferBinding| {
            // SAFETY: there is one binding each.
            unsafe { dmlvk_execute_operator(operator, &raw const input, 1, &raw const output, 1) }
        };
        let at = |offset, size| DmlVkBufferBinding { buffer, offset, size };
        let accepted = "or exactly that of InputTensor";
        refused(execute(at(16, 16), at(16, 32)), E_INVALIDARG, accepted);
        refused(execute(at(16, 32), at(32, 16)), E_INVALIDARG, accepted);
        assert_eq!(floats(&read(buffer, 16, 16)), [1.0, 2.0, 3.0, 4.0]);
        ok(execute(at(16, 16), at(16, 16)));
        assert_eq!(floats(&read(buffer, 16, 16)), [9.0, 2.0, 3.0, 9.0]);
        destroy(device);
    }
}

#[test]
fn the_level_is_a_minimum_with_an_optional_upper_bound() {
    let device = create_device(0, 0x2000, 0x4000);
    let (code, operator) = Diagonal::new(11, &[3, 3], 72, 0, 1.0).compile(device, 0);
    refused(code, E_INVALIDARG, "OutputTensor.DataType: INT64 needs feature level 5_1");
    assert!(operator.is_null());
    let levels = [0x5100u32, 0x3100, 0x1000];
    let ask = |levels: &[u32]| {
        let query = DML_FEATURE_QUERY_FEATURE_LEVELS {
            RequestedFeatureLevelCount: levels.len().try_into().unwrap(),
            RequestedFeatureLevels: levels.as_ptr(),
        };
        let (code, answer) = check_support(device, 1, &query);
        let answer: DML_FEATURE_DATA_FEATURE_LEVELS = answer;
        (code, answer.MaxSupportedFeatureLevel)
    };
    assert_eq!(ask(&levels), (0, 0x3100));
    assert_eq!(ask(&[0x6000]), (DXGI_ERROR_UNSUPPORTED, 0));
    let type_supported = |data_type| {
        let query = DML_FEATURE_QUERY_TENSOR_DATA_TYPE_SUPPORT { DataType: data_type };
        let (code, answer) = check_support(device, 0, &query);
        ok(code);
        let answer: DML_FEATURE_DATA_TENSOR_DATA_TYPE_SUPPORT = answer;
        answer.IsSupported
    };
    assert_eq!((type_supported(1), type_supported(9)), (1, 0));
    destroy(device);
}

/// a + b of this type, as the device takes it.
fn support_of_sum(device: DmlVkDevice, data_type: u32) -> DmlVkSupport {
    let sizes = [1u32, 1, 2, 2];
    let buffer = DML_BUFFER_TENSOR_DESC {
        DataType: data_type,
        Flags: 0,
        DimensionCount: 4,
        Sizes: sizes.as_ptr(),
        Strides: ptr::null(),
        TotalTensorSizeInBytes: 32,
        GuaranteedBaseOffsetAlignment: 0,
    };
    let tensor = DML_TENSOR_DESC { Type: 1, Desc: ptr::from_ref(&buffer).cast() };
    let desc = DML_ELEMENT_WISE_ADD_OPERATOR_DESC {
        ATensor: &raw const tensor,
        BTensor: &raw const tensor,
        OutputTensor: &raw const tensor,
    };
    let desc = DML_OPERATOR_DESC { Type: 4, Desc: ptr::from_ref(&desc).cast() };
    let mut support = 99;
    // SAFETY: the descriptor is complete, and there is a place for the answer.
    ok(unsafe { dmlvk_get_operator_support(device, &raw const desc, &raw mut support) });
    support
}

#[test]
fn an_operator_is_native_by_the_types_that_the_device_has() {
    let (float32, int64) = (1, 11);
    for index in 0..device_count() {
        let device = create_device(index, 0x6400, 0);
        assert_eq!(support_of_sum(device, float32), DMLVK_SUPPORT_NATIVE);
        let of_int64 = support_of_sum(device, int64);
        assert!([DMLVK_SUPPORT_EMULATED, DMLVK_SUPPORT_NATIVE].contains(&of_int64));
        // It is refused where its level is not reached.
        let low = create_device(index, 0x1000, 0x1000);
        assert_eq!(support_of_sum(low, int64), DMLVK_SUPPORT_NONE);
        // SAFETY: null is allowed.
        let code = unsafe { dmlvk_get_operator_support(device, ptr::null(), ptr::null_mut()) };
        refused(code, E_INVALIDARG, "DML_OPERATOR_DESC");
        destroy(low);
        destroy(device);
    }
}

/// Asks for a feature, whose answer is of the type `A`.
fn check_support<Q, A: Default>(device: DmlVkDevice, feature: u32, query: &Q) -> (HRESULT, A) {
    let sizes = [size_of::<Q>(), size_of::<A>()].map(|size| size.try_into().unwrap());
    let (query, mut answer) = (ptr::from_ref(query).cast(), A::default());
    let place = ptr::from_mut(&mut answer).cast();
    // SAFETY: both structs have the sizes given.
    let code =
        unsafe { dmlvk_check_feature_support(device, feature, sizes[0], query, sizes[1], place) };
    (code, answer)
}
