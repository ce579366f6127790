//! Each extreme profile executes operators, bit for bit, on every device; so do profiles of devices.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{diagonal, on_every_device_under, options};
use dml::core::capabilities::Limit;
use dml::profiles::Profile;
use dml::support::Support;
use dml::{
    AbstractOperator, BufferBinding, BufferUsage, CapabilityCap, DataType, Device, DeviceOptions,
    Error, FeatureLevel, TensorDesc,
};

const TYPES: [DataType; 5] =
    [DataType::Float32, DataType::Float16, DataType::Uint8, DataType::Int64, DataType::Float64];

/// The bits of 1 in a type.
fn one(data_type: DataType) -> u64 {
    match data_type {
        DataType::Float16 => 0x3c00,
        DataType::Float32 => 0x3f80_0000,
        DataType::Float64 => 0x3ff0_0000_0000_0000,
        _ => 1,
    }
}

/// Executes a batch of two matrices with ones on the first diagonal above the main one, from the
/// 16th byte of a buffer on, and compares every element and the bytes around.
fn execute(device: &Device, tensor: &TensorDesc) -> dml::Result<()> {
    let operator = device.compile(diagonal(tensor, 1, 1.0))?;
    let size = operator.output_size(0);
    let buffer = device.create_buffer(size + 48)?;
    let guard = vec![0xa5; usize::try_from(size).unwrap() + 48];
    device.vulkan().write_buffer(&buffer, 0, &guard)?;
    device.execute(&operator, &[], &[Some(BufferBinding { buffer: &buffer, offset: 16, size })])?;
    let [_, height, width] = tensor.sizes[..] else { panic!("three dimensions") };
    let expected = (0..2).flat_map(|_| {
        (0..height).flat_map(|y| (0..width).map(move |x| if y + 1 == x { 1 } else { 0 }))
    });
    let width = tensor.data_type.bits() as usize / 8;
    let bytes = |bit: u64| (bit * one(tensor.data_type)).to_le_bytes().into_iter().take(width);
    let expected: Vec<u8> = expected.flat_map(bytes).collect();
    assert_eq!(device.read_packed(&buffer, 16, tensor)?, expected, "{}", tensor.data_type);
    let vulkan = device.vulkan();
    assert_eq!(vulkan.read_buffer(&buffer, 0..16)?, [0xa5; 16]);
    assert_eq!(vulkan.read_buffer(&buffer, 16 + size..size + 48)?, [0xa5; 32]);
    Ok(())
}

/// Dense, and with a gap after every row.
fn tensors(data_type: DataType, rows: u32, columns: u32) -> [TensorDesc; 2] {
    let packed = TensorDesc::packed(data_type, &[2, rows, columns]);
    let padded = packed.clone().with_strides(&[rows * (columns + 1), columns + 1, 1]);
    [packed, padded]
}

fn extremes() -> Vec<Profile> {
    let all = dml::profiles::all().unwrap();
    let extremes: Vec<_> = all.into_iter().filter(|profile| !profile.is_device()).collect();
    assert_eq!(extremes.len(), 7);
    extremes
}

#[test]
fn every_extreme_executes_every_width() {
    for profile in extremes() {
        on_every_device_under(profile.cap, |device| {
            assert!(device.vulkan().shortfalls().is_empty(), "{}", profile.name);
            for data_type in TYPES {
                // A padded FLOAT64 batch takes 2 * 31 * 32 * 8 bytes, just below 16 KiB - 256.
                for tensor in tensors(data_type, 31, 31) {
                    execute(device, &tensor).expect(&profile.name);
                }
            }
        });
    }
}

#[test]
fn a_range_that_shows_no_element_is_refused_by_the_limit_s_name() {
    let cap = CapabilityCap::NONE.with_limit(Limit::MaxStorageBufferRange, 4).unwrap();
    on_every_device_under(cap, |device| {
        // Copies of rows need no descriptor; rows this short take a kernel.
        let [_, padded] = tensors(DataType::Float64, 4, 4);
        let error = execute(device, &padded).unwrap_err();
        assert!(error.is_unsupported(), "{error}");
        assert!(error.to_string().contains("bytes exceed maxStorageBufferRange less"), "{error}");
    });
}

#[test]
fn a_buffer_beyond_a_lowered_size_is_refused_by_the_limit_s_name() {
    for limit in [Limit::MaxBufferSize, Limit::MaxMemoryAllocationSize] {
        let cap = CapabilityCap::NONE.with_limit(limit, 4096).unwrap();
        on_every_device_under(cap, |device| {
            let [_, padded] = tensors(DataType::Float64, 40, 40);
            let error = execute(device, &padded).unwrap_err();
            assert!(error.is_unsupported(), "{error}");
            let expected = format!("but {} of this device is 4096", limit.name());
            assert!(error.to_string().contains(&expected), "{error}");
        });
    }
}

#[test]
fn one_dimensional_groups_take_several_dispatches() {
    let cap = [
        (Limit::MaxComputeWorkGroupCountX, 3),
        (Limit::MaxComputeWorkGroupCountY, 1),
        (Limit::MaxComputeWorkGroupCountZ, 1),
    ];
    let cap = cap
        .into_iter()
        .fold(CapabilityCap::NONE, |cap, (limit, value)| cap.with_limit(limit, value).unwrap());
    on_every_device_under(cap, |device| {
        for tensor in tensors(DataType::Uint8, 40, 50) {
            execute(device, &tensor).unwrap();
        }
    });
}

#[test]
fn buffers_can_be_left_with_storage_usage_alone() {
    let profile = dml::profiles::find("no-transfer-usage").unwrap();
    on_every_device_under(profile.cap, |device| {
        let buffer = device.create_buffer(64).unwrap();
        assert_eq!(buffer.usage(), BufferUsage::STORAGE);
    });
}

#[test]
fn profiles_of_devices_execute_as_far_as_the_host_represents_them() {
    for name in ["apple-m1-0-2-1911-osx-11-2", "nvidia-geforce-rtx-5090-610-43-2-0-freebsd-15-1"] {
        let profile = dml::profiles::find(name).unwrap();
        on_every_device_under(profile.cap, |device| {
            for data_type in TYPES {
                for tensor in tensors(data_type, 20, 30) {
                    execute(device, &tensor).expect(name);
                }
            }
        });
    }
}

#[test]
fn what_kernels_make_of_other_types_is_emulated() {
    let eye = dml::core::operators::find("DIAGONAL_MATRIX").unwrap();
    for cap in [CapabilityCap::NONE, CapabilityCap::NONE.without_features()] {
        on_every_device_under(cap, |device| {
            for data_type in TYPES {
                let answer = device.support(eye, data_type, 2);
                assert_eq!(answer == Support::Native, data_type == DataType::Float32, "{answer}");
                assert!(answer.runs());
                assert!(device.check_tensor_data_type(data_type));
                for tensor in tensors(data_type, 2, 2) {
                    let operator = AbstractOperator::from(diagonal(&tensor, 1, 1.0));
                    assert_eq!(device.operator_support(&operator), answer, "{data_type}");
                }
            }
            let of_4_bits =
                |level| device.at_feature_level(level).check_tensor_data_type(DataType::Int4);
            assert_eq!([FeatureLevel::V6_2, FeatureLevel::V6_3].map(of_4_bits), [false, true]);
        });
    }
}

#[test]
fn a_minimum_level_must_be_met() {
    let at = |created_at, minimum| DeviceOptions {
        feature_level: created_at,
        minimum_feature_level: Some(minimum),
        cap: Some(CapabilityCap::NONE),
        ..options()
    };
    let (low, high) = (FeatureLevel::V4_0, FeatureLevel::V5_0);
    let error = Device::open_with(&at(low, high)).unwrap_err();
    assert!(matches!(error, Error::MinimumFeatureLevel { .. }) && error.is_unsupported());
    assert_eq!(
        error.to_string(),
        "minimum feature level 5_0: not supported by a device created at 4_0 (accepted: up to 4_0)"
    );
    for minimum in [FeatureLevel::V1_0, low] {
        let device = Device::open_with(&at(low, minimum)).unwrap();
        assert_eq!(device.feature_level(), low);
        assert_eq!(device.check_feature_levels(&FeatureLevel::ALL), Some(low));
        assert_eq!(device.check_feature_levels(&[high]), None);
        assert!(!device.check_tensor_data_type(DataType::Float64));
    }
}
