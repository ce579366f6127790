//! Work groups give the order of passes, in few dispatches.

use dml_core::operators::TopK1Desc;
use dml_core::plan::Plan;
use dml_core::{
    AbstractOperator, AxisDirection, Capabilities, DataType, Strategy, TensorDesc, Tuning,
};
use dml_reference::Random;

use crate::tests::{check_limits, kinds, lower_for, lower_with, outputs_on_host, with_window};
use crate::{Target, TransferUse};

const TYPES: [DataType; 5] =
    [DataType::Float32, DataType::Float16, DataType::Int64, DataType::Uint64, DataType::Int8];

fn top_k(data_type: DataType, sizes: [u32; 2], k: u32, axis: u32) -> AbstractOperator {
    let mut wanted = sizes;
    wanted[axis as usize] = k;
    TopK1Desc {
        input_tensor: TensorDesc::packed(data_type, &sizes),
        output_value_tensor: TensorDesc::packed(data_type, &wanted),
        output_index_tensor: TensorDesc::packed(DataType::Uint32, &wanted),
        axis,
        k,
        axis_direction: AxisDirection::Decreasing,
    }
    .into()
}

fn shared() -> Tuning {
    Tuning::new().with_shared_tiles()
}

fn in_groups(plan: &Plan) -> usize {
    kinds(plan).into_iter().filter(|it| *it == "sort").count()
}

/// Few different elements, so that many are equal, and among floats zeros with both signs and several NaNs.
fn elements(random: &mut Random, data_type: DataType, count: u32) -> Vec<u8> {
    let mut some: Vec<u64> = (0..40).map(|_| random.bits()).collect();
    some.extend(match data_type {
        DataType::Float32 => vec![0, 1 << 31, 0x7fc0_0000, 0xffc0_0001, 0x7f80_0000, 0xff80_0000],
        DataType::Float16 => vec![0, 1 << 15, 0x7e00, 0xfe01, 0x7c00, 0xfc00],
        _ => vec![0, u64::MAX, 1 << 63, 1 << 32],
    });
    let bytes = data_type.bits() as usize / 8;
    (0..count).flat_map(|_| random.pick(&some).to_le_bytes()[..bytes].to_vec()).collect()
}

/// Checks that both schedules have the same bytes, and returns how many dispatches share.
fn check(
    random: &mut Random,
    (data_type, sizes, k, axis): (DataType, [u32; 2], u32, u32),
    capabilities: &Capabilities,
) -> usize {
    let input = elements(random, data_type, sizes.iter().product());
    let plans = [Tuning::new(), shared()].map(|tuning| {
        let target = Target { capabilities, tuning, transfer: TransferUse::StorageOnly };
        let plan = lower_for(top_k(data_type, sizes, k, axis), &target);
        check_limits(&plan, &target);
        plan
    });
    let [passes, groups] = plans
        .each_ref()
        .map(|plan| outputs_on_host(plan, std::slice::from_ref(&input), capabilities));
    assert!(passes == groups, "{data_type} {sizes:?} {k} {axis}");
    assert_eq!(in_groups(&plans[0]), 0);
    in_groups(&plans[1])
}

#[test]
fn work_groups_sort_as_passes_do() {
    let capabilities = &Capabilities::vulkan_minimum();
    let mut random = Random::new("sort in groups");
    let lengths = [1, 2, 127, 128, 129, 1023, 1024, 1025, 2047, 2048, 2049];
    for (at, length) in lengths.into_iter().enumerate() {
        // Every length with two types, and every type with four lengths at least.
        for data_type in [TYPES[at % TYPES.len()], TYPES[(at + 2) % TYPES.len()]] {
            for k in [1, 3, length.min(40), length] {
                let k = k.min(length);
                assert!(check(&mut random, (data_type, [2, length], k, 1), capabilities) > 0);
            }
        }
    }
    check(&mut random, (DataType::Float32, [129, 3], 100, 0), capabilities);
}

#[test]
fn long_rows_of_which_many_are_wanted_are_compared_by_both() {
    let capabilities = &Capabilities::vulkan_minimum();
    let mut random = Random::new("sort long rows");
    for (length, k) in [(5000, 1024), (5000, 1025), (5000, 2049), (3000, 3000), (9000, 4100)] {
        let case = (DataType::Float32, [1, length], k, 1);
        assert!(check(&mut random, case, capabilities) > 1, "{length} {k}");
    }
    assert!(check(&mut random, (DataType::Int64, [1, 4097], 5, 1), capabilities) > 1);
}

#[test]
fn numbers_that_no_descriptor_shows_are_sorted_in_passes() {
    let mut random = Random::new("sort in windows");
    // What is found is read where it is: of these elements alone.
    let case = (DataType::Int8, [2, 300], 7, 1);
    assert_eq!(check(&mut random, case, &with_window(4096, 64)), 0);
}

#[test]
fn few_of_many_take_few_dispatches_on_gpus() {
    let plan = |sizes, k, tuning| {
        lower_with(top_k(DataType::Float32, sizes, k, 1), tuning, TransferUse::Allowed)
    };
    let counts = |sizes, k| {
        let plan = plan(sizes, k, shared());
        (plan.exec.len(), in_groups(&plan))
    };
    assert_eq!(counts([1, 50_304], 40), (6, 2));
    assert_eq!(counts([1024, 1024], 1024), (4, 1));
    assert_eq!(plan([1, 50_304], 40, shared()).strategy, Strategy::RowGroups);
    // As many as there were.
    assert_eq!(plan([1, 50_304], 40, Tuning::new()).exec.len(), 95);
}
