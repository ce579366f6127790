//! Which plans come out for which tensors.

use dml_core::operators::{GatherDesc, GatherNdDesc, ScatterNdDesc};
use dml_core::plan::{Aliases, Plan, Slot, Step};
use dml_core::{AbstractOperator, DataType, TensorDesc, Tuning};
use dml_reference::graphs::interpreted;

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
        Step::Dispatch(dispatch) => dispatch.windows.iter().map(|window| window.slot).collect(),
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
        dispatch.kernel.variant.name.clone()
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
fn data_that_no_descriptor_shows_is_gathered_part_by_part() {
    let capabilities = &with_window(1024, 16);
    let lower = |count| {
        let target = Target { capabilities, tuning: Tuning::new(), transfer: TransferUse::Allowed };
        crate::tests::lower_for(rows(count), &target)
    };
    assert_eq!(lower(50).exec.len(), 1);
    // 19,997 offsets, of which 120 lead into a part: half of the bytes that are shown, less 20.
    let plan = lower(5000);
    assert_eq!(plan.exec.len(), 19_997_usize.div_ceil(120));
    crate::tests::check_limits(
        &plan,
        &Target { capabilities, tuning: Tuning::new(), transfer: TransferUse::Allowed },
    );
    // Each reads the indices and a part of the data, and writes what it has.
    let expected = [Slot::Input(1), Slot::Input(0), Slot::Output(0)];
    assert!(slots(&plan).iter().all(|it| *it == expected));
}

#[test]
fn parts_have_the_bits_of_the_whole() {
    let tables = [(DataType::Uint8, 1000_u32), (DataType::Float16, 700), (DataType::Int64, 300)];
    for (data_type, count) in tables {
        let table = TensorDesc::packed(data_type, &[count, 3]);
        let output = TensorDesc::packed(data_type, &[7, 3]);
        let gather = GatherDesc {
            input_tensor: table.clone(),
            indices_tensor: indices(&[1, 7]),
            output_tensor: output.clone(),
            axis: 0,
            index_dimensions: 1,
        };
        let scatter = ScatterNdDesc {
            input_tensor: table.clone(),
            indices_tensor: indices(&[7, 1]),
            updates_tensor: output,
            output_tensor: table,
            input_dimension_count: 2,
            indices_dimension_count: 2,
        };
        let chosen = [0, count - 1, 17, count / 2, count / 2 + 1, 3, count];
        let chosen: Vec<u8> =
            chosen.into_iter().flat_map(|it| i64::from(it).to_le_bytes()).collect();
        let width = data_type.bits() / 8;
        let bytes = |count: u32, step: u32| {
            let byte = |at: u32| u8::try_from((at * step + at / 256) % 251).unwrap();
            (0..count * width).map(byte).collect::<Vec<u8>>()
        };
        let (table, updates) = (bytes(count * 3, 7), bytes(21, 11));
        for (operator, inputs) in [
            (AbstractOperator::from(gather), vec![table.clone(), chosen.clone()]),
            (scatter.into(), vec![table, chosen, updates]),
        ] {
            let of = |window| {
                let capabilities = &with_window(window, 16);
                let target =
                    Target { capabilities, tuning: Tuning::new(), transfer: TransferUse::Allowed };
                let plan = crate::tests::lower_for(operator.clone(), &target);
                let inputs: Vec<Option<Vec<u8>>> = inputs.iter().cloned().map(Some).collect();
                let found = interpreted(&plan, &inputs, &Aliases::NONE, capabilities).unwrap();
                (plan.exec.len(), found)
            };
            let (whole, parts) = (of(1 << 20), of(512));
            assert!(parts.0 > whole.0, "{data_type}");
            assert!(parts.1 == whole.1, "{data_type} {}", operator.schema().name);
        }
    }
}

/// One part for every few of four billion elements would be more nodes than memory holds.
#[test]
fn data_in_more_parts_than_a_plan_takes_are_refused_as_a_whole() {
    let window = with_window(516, 32);
    let target =
        Target { capabilities: &window, tuning: Tuning::new(), transfer: TransferUse::Allowed };
    let apart = tensor(&[2, 2]).with_strides(&[4_000_000_000, 1]);
    let desc = ScatterNdDesc {
        input_tensor: tensor(&[2, 2]),
        indices_tensor: indices(&[1, 2]),
        updates_tensor: tensor(&[1, 1]),
        output_tensor: apart,
        input_dimension_count: 2,
        indices_dimension_count: 2,
    };
    let operator = dml_core::validate(&desc.into(), dml_core::FeatureLevel::HIGHEST).unwrap();
    let row = crate::find(operator.schema().operator_type).unwrap();
    let error = row.lower(&operator, &target).unwrap_err();
    assert!(matches!(error, dml_core::Error::DeviceLimit { unit: "bytes", .. }), "{error}");
}
