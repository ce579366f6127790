//! Bad input of every kind gets an error that helps, never a panic.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{diagonal, on_every_device};
use dml::{BufferBinding, DataType, FeatureLevel, HResult, TensorDesc};

/// One of each layer's refusals: their tests have the others.
#[test]
fn every_layer_refuses_with_field_value_and_what_is_accepted() {
    on_every_device(|device| {
        let float = |sizes: &[u32]| diagonal(&TensorDesc::packed(DataType::Float32, sizes), 0, 1.0);
        let error = device.compile(float(&[3, 0])).unwrap_err();
        assert_eq!((error.is_invalid(), error.hresult()), (true, HResult::E_INVALIDARG));
        assert_eq!(
            error.to_string(),
            "DIAGONAL_MATRIX: OutputTensor.Sizes[1]: 0 is no size (tensors cannot be empty); \
             accepted: 1 to 4294967295"
        );
        let error = device.at_feature_level(FeatureLevel::V1_0).compile(float(&[1, 1, 3, 3]));
        let message = error.unwrap_err().to_string();
        assert!(message.starts_with("DIAGONAL_MATRIX: needs feature level 2_0;"), "{message}");

        let operator = device.compile(float(&[3, 3])).unwrap();
        let buffer = device.create_buffer(64).unwrap();
        let short = [Some(BufferBinding { buffer: &buffer, offset: 0, size: 32 })];
        let error = device.execute(&operator, &[], &short).unwrap_err();
        assert_eq!((error.is_invalid(), error.hresult()), (true, HResult::E_INVALIDARG));
        let message = error.to_string();
        assert!(message.starts_with("DIAGONAL_MATRIX: OutputTensor: a range of 32"), "{message}");

        let error = device.create_buffer(1 << 50).unwrap_err();
        assert_eq!(error.hresult(), HResult::DXGI_ERROR_UNSUPPORTED, "{error}");
        assert!(error.to_string().contains("max"), "{error}");
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
