//! Numerics are chosen where a device is created.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::options;
use dml::core::Strategy;
use dml::{DataType, Device, DeviceOptions, GemmDesc, MatrixTransform, Numerics, TensorDesc};

/// Whether the driver may fuse operations of a matrix product on the device.
fn is_fused(device: &Device) -> bool {
    let tensor = || TensorDesc::packed(DataType::Float32, &[1, 1, 8, 8]);
    let desc = GemmDesc {
        a_tensor: tensor(),
        b_tensor: tensor(),
        c_tensor: None,
        output_tensor: tensor(),
        trans_a: MatrixTransform::None,
        trans_b: MatrixTransform::None,
        alpha: 1.0,
        beta: 0.0,
        fused_activation: None,
    };
    device.compile(desc).unwrap().vulkan().plan().describe().contains("_f32 fused")
}

#[test]
fn devices_are_exact_unless_fast_is_asked_for() {
    let exact = Device::open_with(&options()).unwrap();
    assert_eq!((exact.numerics(), is_fused(&exact)), (Numerics::Exact, false));
    let fast = DeviceOptions { numerics: Numerics::Fast, ..options() };
    let fast = Device::open_with(&fast).unwrap();
    assert_eq!((fast.numerics(), is_fused(&fast)), (Numerics::Fast, true));
    // A changed tuning keeps all other preferences.
    let by = fast.with_tuning(fast.tuning().with_strategy(Strategy::RegisterTiles));
    assert!(is_fused(&by));
    assert_eq!(fast.at_feature_level(fast.feature_level()).numerics(), Numerics::Fast);
}
