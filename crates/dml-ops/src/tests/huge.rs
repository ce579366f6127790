//! The limits and the length of plans for tensors that are too large to be executed here.

use dml_core::plan::{InPlace, Plan, Step};
use dml_core::{
    AbstractOperator, Capabilities, DataType, Error, FeatureLevel, TensorDesc, TensorFlags, Tuning,
    validate,
};
use dml_reference::descriptors;

use super::{check_limits, kinds, with_window};
use crate::{Target, TransferUse, lower};

const TYPES: [DataType; 4] =
    [DataType::Uint8, DataType::Float16, DataType::Float32, DataType::Int64];
const TRANSFERS: [TransferUse; 2] = [TransferUse::Allowed, TransferUse::StorageOnly];
/// 2^32 - 1 elements.
const LARGEST: [u32; 4] = [1, 1, 65_535, 65_537];
const TRANSPOSED: [u32; 4] = [0, 0, 1, 65_535];

/// Three kinds of devices: Vulkan's minimum, SwiftShader, most GPUs.
fn devices() -> [Capabilities; 3] {
    let mut gpu = with_window(0, 16);
    gpu.limits.max_storage_buffer_range = u32::MAX.into();
    [with_window((1 << 27) - 256, 256), with_window((1 << 30) - 256, 256), gpu]
}

fn eye(output: &TensorDesc, offset: i32) -> AbstractOperator {
    descriptors::diagonal(output.clone(), offset, 1.0).into()
}

fn band(input: Option<&TensorDesc>, output: &TensorDesc, band: (i32, i32)) -> AbstractOperator {
    descriptors::band(input.cloned(), output.clone(), 7, band).into()
}

fn fill(output: &TensorDesc) -> AbstractOperator {
    descriptors::filled(output.clone(), 7).into()
}

fn try_plan(operator: &AbstractOperator, target: &Target<'_>) -> Result<Plan, Error> {
    let plan = lower(&validate(operator, FeatureLevel::HIGHEST).unwrap(), target)?;
    check_limits(&plan, target);
    Ok(plan)
}

fn target(capabilities: &Capabilities, transfer: TransferUse) -> Target<'_> {
    Target { capabilities, tuning: Tuning::new(), transfer }
}

fn owned(tensor: &TensorDesc) -> TensorDesc {
    TensorDesc { flags: TensorFlags::OWNED_BY_DML, ..tensor.clone() }
}

/// Every strategy for a tensor, with the largest number of dispatches for each box in one phase.
fn operators(tensor: &TensorDesc) -> Vec<(AbstractOperator, u64)> {
    vec![
        // Without transfer usage the zeros are dispatches too.
        (eye(tensor, 0), 2),
        (eye(tensor, 1), 2),
        (eye(tensor, i32::MIN), 1),
        (band(None, tensor, (-5, 70_000)), 2),
        (band(None, tensor, (2, -2)), 3),
        (band(Some(tensor), tensor, (0, i32::MAX)), 1),
        (band(Some(tensor), tensor, (2, -2)), 2),
        (band(Some(&owned(tensor)), tensor, (0, 1)), 1),
        (fill(tensor), 1),
    ]
}

/// Lowers every operator for a tensor everywhere, and checks that no phase has more dispatches than
/// `slack` times those that the tensor's bytes need.
fn check_lengths(tensor: &TensorDesc, slack: u64) {
    let layout = dml_core::TensorLayout::new(tensor).unwrap();
    for (capabilities, transfer) in
        devices().iter().flat_map(|device| TRANSFERS.map(move |transfer| (device, transfer)))
    {
        let target = target(capabilities, transfer);
        let boxes = layout.minimum_size().div_ceil(target.max_window()) + 1;
        for (operator, each) in operators(tensor) {
            let plan = try_plan(&operator, &target).unwrap();
            let in_place = plan.in_place.iter().map(InPlace::own_steps);
            for steps in [&plan.init[..], &plan.exec].into_iter().chain(in_place) {
                let found = steps.len() as u64;
                assert!(found <= boxes * each * slack + 1, "{found} {boxes} {operator:?}");
            }
        }
    }
}

#[test]
fn the_largest_tensors_take_as_many_dispatches_as_their_bytes_need() {
    for data_type in TYPES {
        let tensor = TensorDesc::packed(data_type, &LARGEST);
        check_lengths(&tensor, 1);
        check_lengths(&tensor.with_strides(&TRANSPOSED), 1);
    }
}

#[test]
fn so_do_tensors_around_every_power_that_could_wrap() {
    for data_type in TYPES {
        let width = u64::from(data_type.bits() / 8);
        for bytes in [1u64 << 27, 1 << 30, 1 << 31, 1 << 32] {
            for columns in [bytes / width - 1, bytes / width, bytes / width + 1] {
                // In one row the whole row has to be divided, in two each.
                let Ok(columns) = u32::try_from(columns) else { continue };
                check_lengths(&TensorDesc::packed(data_type, &[1, columns]), 1);
                let halves = TensorDesc::packed(data_type, &[2, columns / 2]);
                check_lengths(&halves, 2);
                check_lengths(&halves.with_strides(&[1, 2]), 2);
            }
        }
    }
}

/// The number of the diagonal's elements that the dispatches of a plan write.
fn scattered(plan: &Plan) -> u64 {
    let count = |step: &Step| match step {
        Step::Dispatch(dispatch) => {
            let word = dispatch.push_constants[8..12].try_into().unwrap();
            u64::from(u32::from_le_bytes(word))
        }
        _ => 0,
    };
    plan.exec.iter().map(count).sum()
}

#[test]
fn an_identity_of_17_gb_takes_about_128_dispatches() {
    let [minimum, _, gpu] = devices();
    let tensor = TensorDesc::packed(DataType::Float32, &LARGEST);
    let plan = try_plan(&eye(&tensor, 0), &target(&minimum, TransferUse::Allowed)).unwrap();
    assert_eq!((plan.exec.len(), scattered(&plan)), (1 + 128, 65_535));
    let plan = try_plan(&eye(&tensor, 0), &target(&gpu, TransferUse::Allowed)).unwrap();
    assert_eq!((plan.exec.len(), scattered(&plan)), (1 + 4, 65_535));
    let plan = try_plan(&eye(&tensor, 0), &target(&minimum, TransferUse::StorageOnly)).unwrap();
    assert_eq!(plan.exec.len(), 129 + 128);
}

#[test]
fn a_band_takes_no_dispatch_where_it_is_not() {
    let [minimum, ..] = devices();
    let target = target(&minimum, TransferUse::Allowed);
    let tall = TensorDesc::packed(DataType::Float32, &[1 << 30, 2]);
    let plan = try_plan(&band(None, &tall, (-3, 0)), &target).unwrap();
    assert_eq!(kinds(&plan), ["fill", "diagonal_band_b32"]);
    // One row has twice the bytes of a window.
    let wide = TensorDesc::packed(DataType::Float32, &[9, 1 << 26]);
    let plan = try_plan(&band(None, &wide, (0, 2)), &target).unwrap();
    assert_eq!(plan.exec.len(), 1 + 9);
    let plan = try_plan(&eye(&wide, 0), &target).unwrap();
    assert_eq!(plan.exec.len(), 1 + 9);
}

#[test]
fn elements_that_are_far_apart_take_a_dispatch_each() {
    let far = TensorDesc::packed(DataType::Int64, &[2, 2]).with_strides(&[1 << 31, 1 << 30]);
    for capabilities in &devices()[..2] {
        let target = target(capabilities, TransferUse::Allowed);
        let plan = try_plan(&eye(&far, 0), &target).unwrap();
        assert_eq!(kinds(&plan), ["diagonal_write_b64"; 4]);
        let packed = TensorDesc::packed(DataType::Int64, &[2, 2]);
        let plan = try_plan(&band(Some(&far), &packed, (0, 1)), &target).unwrap();
        assert_eq!(kinds(&plan), ["diagonal_merge_b64"; 4]);
        assert_eq!(kinds(&try_plan(&fill(&far), &target).unwrap()), ["fill_write_b64"; 4]);
    }
}

#[test]
fn a_transposed_input_is_merged_square_by_square() {
    let [minimum, ..] = devices();
    let target = target(&minimum, TransferUse::Allowed);
    let tensor = TensorDesc::packed(DataType::Float32, &LARGEST);
    let transposed = tensor.clone().with_strides(&TRANSPOSED);
    let plan = try_plan(&band(Some(&transposed), &tensor, (0, 1)), &target).unwrap();
    assert!((128 * 128..=129 * 129).contains(&plan.exec.len()), "{}", plan.exec.len());
}

#[test]
fn what_no_plan_can_hold_is_refused_by_the_limits_names() {
    let capabilities = with_window(128, 16);
    let target = target(&capabilities, TransferUse::Allowed);
    let refused = |operator| try_plan(&operator, &target).unwrap_err().to_string();
    let tensor = TensorDesc::packed(DataType::Float32, &[4096, 4096]);
    let input = tensor.clone().with_strides(&[1, 4096]);
    assert_eq!(
        refused(band(Some(&input), &tensor, (0, 1))),
        "DIAGONAL_MATRIX1: OutputTensor: 16777216 dispatches exceed what a plan takes, \
         with the maxStorageBufferRange and maxComputeWorkGroupCount of this device (131072)"
    );
    let without_window = with_window(4, 256);
    let target = Target { capabilities: &without_window, ..target };
    let refused = |operator| try_plan(&operator, &target).unwrap_err().to_string();
    assert_eq!(
        refused(eye(&TensorDesc::packed(DataType::Int64, &[2000, 2000]), 0)),
        "DIAGONAL_MATRIX: OutputTensor: 8 bytes exceed maxStorageBufferRange less \
         minStorageBufferOffsetAlignment of this device (4)"
    );
    // Zeros alone need no descriptor.
    let zeros = eye(&TensorDesc::packed(DataType::Int64, &[2, 2]), 2);
    assert_eq!(kinds(&try_plan(&zeros, &target).unwrap()), ["update"]);
    let strided = TensorDesc::packed(DataType::Uint8, &[2, 2]).with_strides(&[4, 2]);
    assert!(refused(fill(&strided)).contains("OutputTensor: 32 bytes exceed"));
}

#[test]
fn too_few_groups_for_the_largest_tensor_are_refused_too() {
    let mut capabilities = with_window(1 << 30, 16);
    capabilities.limits.max_compute_work_group_count = [3, 2, 1];
    let target = target(&capabilities, TransferUse::StorageOnly);
    let tensor = TensorDesc::packed(DataType::Float32, &LARGEST);
    let error = try_plan(&eye(&tensor, 0), &target).unwrap_err().to_string();
    assert!(error.contains("131073 dispatches exceed what a plan takes"), "{error}");
}
