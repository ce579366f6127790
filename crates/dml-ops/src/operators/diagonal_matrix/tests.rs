//! Which plans come out of lowering; what they compute is checked for every operator at once.

use dml_core::plan::{Plan, Step};
use dml_core::{Capabilities, DataType, FeatureLevel, TensorDesc, Traits, Validated, validate};

use super::{DIAGONAL_MATRIX, DiagonalMatrix};
use crate::tests::kinds;
use crate::{Operator, Target, TransferUse};

fn diagonal(tensor: TensorDesc, offset: i32, value: f32) -> Validated {
    let desc = dml_core::operators::DiagonalMatrixDesc { output_tensor: tensor, offset, value };
    validate(&desc.into(), FeatureLevel::HIGHEST).unwrap()
}

fn lower_for(
    operator: &Validated,
    capabilities: &Capabilities,
    traits: Traits,
    transfer: TransferUse,
) -> Plan {
    DiagonalMatrix.lower(operator, &Target { capabilities, traits, transfer }).unwrap()
}

#[test]
fn documented_examples_are_what_the_reference_says() {
    let cases = DiagonalMatrix.reference().cases(DataType::Float32, 4);
    let documented: Vec<_> = cases.iter().filter(|case| case.documented.is_some()).collect();
    assert_eq!(documented.len(), 4);
    for case in documented {
        let operator = validate(&case.operator, FeatureLevel::V2_0).unwrap();
        let outputs = DiagonalMatrix.reference().outputs(&operator, &[]).unwrap();
        assert_eq!(Some(outputs), case.documented, "{}", case.name);
    }
}

#[test]
fn the_strategy_follows_layout_usage_and_value() {
    let capabilities = Capabilities::vulkan_minimum();
    let lower = |tensor: TensorDesc, value, transfer| {
        kinds(&lower_for(&diagonal(tensor, 0, value), &capabilities, Traits::new(), transfer))
    };
    let packed = || TensorDesc::packed(DataType::Int8, &[3, 3]);
    let allowed = TransferUse::Allowed;
    assert_eq!(lower(packed(), 1.0, allowed), ["fill", "diagonal_scatter_b8"]);
    assert_eq!(lower(packed().with_strides(&[1, 3]), 1.0, allowed).len(), 2);
    assert_eq!(lower(packed(), 0.5, allowed), ["fill"]);
    assert_eq!(lower(packed().with_strides(&[4, 1]), 1.0, allowed), ["diagonal_write_b8"]);
    assert_eq!(lower(packed(), 1.0, TransferUse::StorageOnly), ["diagonal_write_b8"]);
    // Negative zero has bits of its own.
    let halves = TensorDesc::packed(DataType::Float16, &[3, 3]);
    assert_eq!(lower(halves, -0.0, allowed), ["fill", "diagonal_scatter_b16"]);
}

#[test]
fn push_constants_fit_and_groups_stay_within_the_limits() {
    let mut capabilities = Capabilities::vulkan_minimum();
    capabilities.limits.max_compute_work_group_count = [3, 2, 1];
    let operator = diagonal(TensorDesc::packed(DataType::Int64, &[2, 3, 50, 50]), 0, 1.0);
    let plan =
        lower_for(&operator, &capabilities, Traits::new().with_local_size(4), TransferUse::Allowed);
    assert_eq!(plan.exec.len(), 1 + (2usize * 3 * 50).div_ceil(4 * 6));
    for step in &plan.exec {
        if let Step::Dispatch(dispatch) = step {
            assert!(dispatch.push_constants.len() <= dml_core::plan::MAX_PUSH_CONSTANT_BYTES);
            assert!(dispatch.groups.iter().zip([3, 2, 1]).all(|(count, limit)| *count <= limit));
        }
    }
    assert_eq!(plan.operator, DIAGONAL_MATRIX.name);
}
