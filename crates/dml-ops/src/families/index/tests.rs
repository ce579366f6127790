//! Which plans come out for which tensors.

use dml_core::operators::{GatherDesc, GatherNdDesc, ScatterNdDesc};
use dml_core::plan::{Plan, Slot, Step};
use dml_core::{Capabilities, DataType, Error, FeatureLevel, TensorDesc, Tuning, validate};

use crate::tests::{lower_with, with_window};
use crate::{Target, TransferUse};

fn tensor(sizes: &[u32]) -> TensorDesc {
    TensorDesc::packed(DataType::Float32, sizes)
}

fn indices(sizes: &[u32]) -> TensorDesc {
    TensorDesc::packed(DataType::Int64, sizes)
}

/// The slots that each dispatch reads and writes.
fn slots(plan: &Plan) -> Vec<Vec<Slot>> {
    let of = |step: &Step| match step {
        Step::Dispatch(dispatch) => dispatch.windows.iter().map(|it| it.slot).collect(),
        other => panic!("{other:?}"),
    };
    plan.exec.iter().map(of).collect()
}

fn rows(count: u32) -> GatherDesc {
    GatherDesc {
        input_tensor: tensor(&[count, 4]),
        indices_tensor: indices(&[1, 3]),
        output_tensor: tensor(&[3, 4]),
        axis: 0,
        index_dimensions: 1,
    }
}

#[test]
fn gathering_is_one_dispatch() {
    let plan = lower_with(rows(100), Tuning::new(), TransferUse::StorageOnly);
    assert_eq!(slots(&plan), [[Slot::Input(1), Slot::Input(0), Slot::Output(0)]]);
}

#[test]
fn rows_of_quads_are_moved_as_such() {
    let kernel = |size| {
        let rows = GatherDesc {
            input_tensor: tensor(&[100, size]),
            output_tensor: tensor(&[3, size]),
            ..rows(100)
        };
        let plan = lower_with(rows, Tuning::new(), TransferUse::StorageOnly);
        let Step::Dispatch(dispatch) = &plan.exec[0] else { panic!("{plan:?}") };
        dispatch.kernel.variant.name
    };
    assert!(kernel(8).contains("b64 moved"), "{}", kernel(8));
    assert!(kernel(4).contains("b32 moved"), "{}", kernel(4));
    assert!(kernel(6).contains("b32 displaced"), "{}", kernel(6));
}

#[test]
fn scattering_copies_first() {
    let desc = ScatterNdDesc {
        input_tensor: tensor(&[5, 4]),
        indices_tensor: indices(&[3, 1]),
        updates_tensor: tensor(&[3, 4]),
        output_tensor: tensor(&[5, 4]),
        input_dimension_count: 2,
        indices_dimension_count: 2,
    };
    let plan = lower_with(desc, Tuning::new(), TransferUse::StorageOnly);
    let expected = [
        vec![Slot::Input(0), Slot::Output(0)],
        vec![Slot::Input(2), Slot::Input(1), Slot::Output(0)],
    ];
    assert_eq!(slots(&plan), expected);
}

#[test]
fn the_first_indices_of_long_tuples_are_joined_in_the_temporary_resource() {
    let desc = GatherNdDesc {
        input_tensor: tensor(&[2; 8]),
        indices_tensor: indices(&[1, 1, 1, 1, 1, 1, 5, 8]),
        output_tensor: tensor(&[1, 1, 1, 1, 1, 1, 1, 5]),
        input_dimension_count: 8,
        indices_dimension_count: 2,
    };
    let plan = lower_with(desc, Tuning::new(), TransferUse::StorageOnly);
    let last = vec![Slot::Temporary, Slot::Input(1), Slot::Input(0), Slot::Output(0)];
    let first = [vec![Slot::Input(1); 7], vec![Slot::Temporary]].concat();
    assert_eq!((slots(&plan), plan.temporary_size), (vec![first, last], 20));
}

#[test]
fn data_that_no_descriptor_shows_is_refused_with_the_field_and_the_bytes() {
    let capabilities = &with_window(1024, 16);
    let lower = |count| {
        let operator = validate(&rows(count).into(), FeatureLevel::HIGHEST).unwrap();
        let target = Target { capabilities, tuning: Tuning::new(), transfer: TransferUse::Allowed };
        crate::lower(&operator, &target)
    };
    assert_eq!(lower(50).map(|plan| plan.exec.len()), Ok(1));
    // Columns can be gathered one after the other, but each of them is all rows.
    let refused = lower(5000).unwrap_err();
    let Error::DeviceLimit { field, needed, available, .. } = refused else {
        panic!("{refused}");
    };
    // A column may begin at the last word of four.
    assert_eq!((field, needed, available), ("InputTensor", (4999 * 4 + 1 + 3) * 4, 1024));
    assert!(Capabilities::vulkan_minimum().limits.max_storage_buffer_range > needed);
}
