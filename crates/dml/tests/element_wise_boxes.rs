//! Element-wise operators on tensors that are larger than a descriptor, against the reference. Robust access is
//! off, because it would keep stray writes from the guards.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{on_every_device_as, options, reference};
use dml::ops::{Target, TransferUse};
use dml::{
    AbstractOperator, CastDesc, DataType, Device, DeviceOptions, ElementWiseAddDesc,
    ElementWiseIdentityDesc, TensorDesc,
};
use dml_reference::Case;

/// Runs the cases with descriptors of 1 MiB, each of which takes at least `boxes` of them.
fn check_all(boxes: usize, cases: &[Case]) {
    let cap = Some(dml::profiles::find("storage-range-1-mib").unwrap().cap);
    let options = DeviceOptions { cap, robust_access: Some(false), ..options() };
    on_every_device_as(&options, |device| {
        for case in cases {
            let steps = steps(device, &case.operator);
            assert!(steps >= boxes, "{}: {steps} steps", case.name);
            reference::check(device, case);
        }
    });
}

/// The number of steps of an execution.
fn steps(device: &Device, operator: &AbstractOperator) -> usize {
    let validated = dml::core::validate(operator, device.feature_level()).unwrap();
    let (capabilities, tuning) = (device.capabilities(), device.tuning());
    let target = Target { capabilities, tuning, transfer: TransferUse::Allowed };
    dml::ops::lower(&validated, &target).unwrap().exec.len()
}

fn add(a: &TensorDesc, b: &TensorDesc, output: &TensorDesc) -> ElementWiseAddDesc {
    let (a_tensor, b_tensor) = (a.clone(), b.clone());
    ElementWiseAddDesc { a_tensor, b_tensor, output_tensor: output.clone() }
}

#[test]
fn a_sum_is_right_apart_and_in_place() {
    let whole = TensorDesc::packed(DataType::Float32, &[3, 262_147]);
    let sum = || Case::new("sum", add(&whole, &whole, &whole));
    let moved = sum().at_output_offset(48).at_input_offset(16);
    check_all(3, &[moved, sum().in_place([0]), sum().in_place([1]), sum().in_place([0, 1])]);
}

#[test]
fn a_value_for_each_channel_is_added() {
    let whole = TensorDesc::packed(DataType::Float32, &[2, 5, 300, 259]);
    let by_channel = whole.clone().with_strides(&[0, 1, 0, 0]);
    let sum = Case::new("by channel", add(&whole, &by_channel, &whole));
    check_all(3, &[sum.clone(), sum.in_place([0])]);
}

#[test]
fn a_transposed_input_is_added() {
    let whole = TensorDesc::packed(DataType::Float32, &[1, 1000, 771]);
    let transposed = whole.clone().with_strides(&[0, 1, 1000]);
    let sum = Case::new("transposed", add(&transposed, &whole, &whole));
    check_all(3, &[sum.clone(), sum.in_place([1])]);
}

#[test]
fn integers_of_8_bits_are_added_whatever_their_number() {
    // A row that is no multiple of the 16 in four words, and rows that begin inside of words.
    for sizes in [&[3_145_741][..], &[1037, 3031]] {
        let whole = TensorDesc::packed(DataType::Int8, sizes);
        let sum = Case::new(format!("{sizes:?}"), add(&whole, &whole, &whole));
        check_all(3, &[sum.clone(), sum.in_place([0])]);
    }
}

#[test]
fn integers_of_64_bits_are_added_and_copied() {
    let whole = TensorDesc::packed(DataType::Int64, &[400_003]);
    let (input_tensor, output_tensor) = (whole.clone(), whole.clone());
    let copy = ElementWiseIdentityDesc { input_tensor, output_tensor, scale_bias: None };
    check_all(3, &[Case::new("sum", add(&whole, &whole, &whole)), Case::new("copy", copy)]);
}

#[test]
fn elements_of_one_width_become_those_of_another() {
    let pairs = [
        (DataType::Int8, DataType::Int64),
        (DataType::Int64, DataType::Int8),
        (DataType::Float32, DataType::Float16),
        (DataType::Float64, DataType::Float16),
        (DataType::Uint8, DataType::Float32),
    ];
    let case = |(from, to): (DataType, DataType)| {
        let [input_tensor, output_tensor] =
            [from, to].map(|data_type| TensorDesc::packed(data_type, &[5, 140_003]));
        Case::new(format!("{from} to {to}"), CastDesc { input_tensor, output_tensor })
    };
    check_all(2, &pairs.map(case));
}
