//! Bad input of every kind gets an error that helps, never a panic.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{diagonal, on_every_device, options};
use dml::{BufferBinding, DataType, Device, FeatureLevel, HResult, TensorDesc};

fn refused(device: &Device, tensor: TensorDesc) -> String {
    let error = device.compile(diagonal(&tensor, 0, 1.0)).unwrap_err();
    assert!(error.is_invalid(), "{error}");
    assert_eq!(error.hresult(), HResult::E_INVALIDARG);
    error.to_string()
}

#[test]
fn descriptors_are_refused_with_field_value_and_what_is_accepted() {
    on_every_device(|device| {
        let float = |sizes: &[u32]| TensorDesc::packed(DataType::Float32, sizes);
        assert_eq!(
            refused(device, float(&[3, 0])),
            "DIAGONAL_MATRIX: OutputTensor.Sizes[1]: 0 is not a size (tensors cannot be empty); \
             accepted: 1 to 4294967295"
        );
        let message = refused(device, float(&[1; 9]));
        assert!(message.contains("DimensionCount: 9 is out of range; accepted: 1 to 8"));
        let message = refused(device, float(&[3, 3]).with_strides(&[1, 1]));
        assert!(message.contains("Strides: [1, 1] with Sizes [3, 3] let elements"), "{message}");
        let message = refused(device, float(&[u32::MAX, u32::MAX]));
        assert!(message.contains("has too many elements; accepted: at most 4294967295"));
        let message = refused(device, float(&[3, 3]).with_total_size(32));
        assert!(message.contains("TotalTensorSizeInBytes: 32 is too small"), "{message}");
    });
}

#[test]
fn each_level_refuses_what_it_does_not_promise() {
    on_every_device(|device| {
        let at = |level: FeatureLevel, data_type, sizes: &[u32]| {
            refused(&device.at_feature_level(level), TensorDesc::packed(data_type, sizes))
        };
        let message = at(FeatureLevel::V1_0, DataType::Float32, &[1, 1, 3, 3]);
        assert!(message.starts_with("DIAGONAL_MATRIX: needs feature level 2_0;"), "{message}");
        let message = at(FeatureLevel::V1_0, DataType::Int8, &[1, 1, 3, 3]);
        let both = "DIAGONAL_MATRIX: needs feature level 2_0; \
                    OutputTensor.DataType: INT8 needs feature level 2_1;";
        assert!(message.starts_with(both), "{message}");
        let message = at(FeatureLevel::V2_0, DataType::Int32, &[1, 1, 3, 3]);
        assert!(message.contains("INT32 needs feature level 2_1"), "{message}");
        let message = at(FeatureLevel::V2_1, DataType::Int32, &[1, 3, 3]);
        assert!(message.contains("DimensionCount: 3 needs feature level 4_0"), "{message}");
        let message = at(FeatureLevel::V4_0, DataType::Int64, &[3, 3]);
        assert!(message.contains("INT64 needs feature level 5_1"), "{message}");
        let message = at(FeatureLevel::V6_4, DataType::Uint4, &[3, 3]);
        assert!(message.contains("UINT4 is not supported at any feature level"), "{message}");
    });
}

#[test]
fn bindings_are_refused_with_field_value_and_what_is_accepted() {
    on_every_device(|device| {
        let tensor = TensorDesc::packed(DataType::Float32, &[3, 3]);
        let operator = device.compile(diagonal(&tensor, 0, 1.0)).unwrap();
        let buffer = device.create_buffer(64).unwrap();
        let bind = |offset, size| {
            let bindings = [Some(BufferBinding { buffer: &buffer, offset, size })];
            let error = device.execute(&operator, &[], &bindings).unwrap_err();
            assert!(error.is_invalid(), "{error}");
            error.to_string()
        };
        let message = bind(0, 32);
        assert!(message.starts_with("DIAGONAL_MATRIX: OutputTensor"), "{message}");
        assert!(message.contains("32") && message.contains("36"), "{message}");
        let message = bind(8, 36);
        assert!(message.contains('8') && message.contains("16"), "{message}");
        assert!(bind(32, 36).contains("64"));
        assert!(bind(u64::MAX - 15, 36).starts_with("DIAGONAL_MATRIX: OutputTensor"));
        assert!(device.execute(&operator, &[], &[None]).unwrap_err().is_invalid());
        assert!(device.execute(&operator, &[], &[]).unwrap_err().is_invalid());
        let extra = [Some(BufferBinding::whole(&buffer))];
        assert!(device.execute(&operator, &extra, &extra).unwrap_err().is_invalid());
    });
}

#[test]
fn buffers_of_another_device_are_refused() {
    on_every_device(|device| {
        let other = Device::on_with(device.vulkan().physical(), &options()).unwrap();
        let tensor = TensorDesc::packed(DataType::Float32, &[3, 3]);
        let operator = device.compile(diagonal(&tensor, 0, 1.0)).unwrap();
        let buffer = other.create_buffer(64).unwrap();
        let error =
            device.execute(&operator, &[], &[Some(BufferBinding::whole(&buffer))]).unwrap_err();
        assert!(error.is_invalid() && error.to_string().contains("device"), "{error}");
    });
}

#[test]
fn reading_is_checked() {
    on_every_device(|device| {
        let buffer = device.create_buffer(16).unwrap();
        let tensor = TensorDesc::packed(DataType::Float32, &[3, 3]);
        assert!(device.read::<f32>(&buffer, 0, &tensor).unwrap_err().is_invalid());
        let error = device.read::<i32>(&buffer, 0, &tensor).unwrap_err();
        assert_eq!(error.to_string(), "a FLOAT32 tensor cannot be read as i32 (accepted: INT32)");
        let nibbles = TensorDesc::packed(DataType::Int4, &[3]);
        assert!(device.read_packed(&buffer, 0, &nibbles).unwrap_err().is_invalid());
        let small = TensorDesc::packed(DataType::Float32, &[1]);
        assert!(device.read::<f32>(&buffer, u64::MAX, &small).unwrap_err().is_invalid());
    });
}

#[test]
fn buffers_beyond_the_device_s_limits_name_the_limit() {
    on_every_device(|device| {
        let error = device.create_buffer(0).unwrap_err();
        assert!(error.is_invalid(), "{error}");
        let error = device.create_buffer(1 << 50).unwrap_err();
        assert_eq!(error.hresult(), HResult::DXGI_ERROR_UNSUPPORTED, "{error}");
        assert!(error.to_string().contains("max"), "{error}");
    });
}
