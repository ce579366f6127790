//! Numerics are chosen where a device is created.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::options;
use dml::core::{Strategy, Tuning};
use dml::{DataType, Device, DeviceOptions, MatrixTransform, Numerics, TensorDesc};
use dml_reference::descriptors::gemm;

/// Whether the driver may fuse operations of a matrix product on the device.
fn is_fused(device: &Device) -> bool {
    let tensor = || TensorDesc::packed(DataType::Float32, &[1, 1, 8, 8]);
    let desc = gemm([tensor(), tensor(), tensor()], MatrixTransform::None);
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
    // A tuning does not choose numerics.
    assert_eq!(fast.with_tuning(Tuning::new()).numerics(), Numerics::Fast);
    let asked = exact.with_tuning(fast.tuning());
    assert_eq!((asked.numerics(), is_fused(&asked)), (Numerics::Exact, false));
    assert_eq!(fast.at_feature_level(fast.feature_level()).numerics(), Numerics::Fast);
}
