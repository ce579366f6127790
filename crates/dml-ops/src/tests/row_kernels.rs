//! Softmax and norms are one kernel where rows fit, and have the bits of their members one by one.

use dml_core::host::{HostBuffer, HostMemory, interpret};
use dml_core::operators::{
    ActivationLogSoftmax1Desc, ActivationSoftmax1Desc, LpNormalizationDesc, ReduceDesc,
};
use dml_core::plan::{Plan, Step};
use dml_core::{
    AbstractOperator, Capabilities, DataType, FeatureLevel, ReduceFunction, Strategy, TensorDesc,
    Tuning, Validated, validate,
};
use dml_reference::Random;
use dml_reference::descriptors::normalization;

use crate::schedule::plan;
use crate::tests::kind;
use crate::{Target, TransferUse};

/// A device that runs work groups of any size.
pub(super) fn card() -> Capabilities {
    let mut card = Capabilities::vulkan_minimum();
    (card.limits.max_compute_work_group_invocations, card.limits.max_compute_work_group_size) =
        (1024, [1024; 3]);
    card
}

/// Operators on rows, `rows` of them, and whether they have a scale and a bias.
pub(super) fn operators(data_type: DataType, rows: u32, length: u32) -> Vec<AbstractOperator> {
    let tensor = || TensorDesc::packed(data_type, &[rows, length]);
    let repeated = || tensor().with_strides(&[0, 1]);
    vec![
        ActivationSoftmax1Desc { input_tensor: tensor(), output_tensor: tensor(), axes: vec![1] }
            .into(),
        ActivationLogSoftmax1Desc {
            input_tensor: tensor(),
            output_tensor: tensor(),
            axes: vec![1],
        }
        .into(),
        LpNormalizationDesc {
            input_tensor: tensor(),
            output_tensor: tensor(),
            axis: 1,
            epsilon: 0.01,
            p: 2,
        }
        .into(),
        normalization(&tensor(), &repeated(), vec![1]).into(),
    ]
}

pub(super) fn dispatches(plan: &Plan) -> usize {
    plan.exec.iter().filter(|it| matches!(it, Step::Dispatch(_))).count()
}

/// The bytes of the first output, with inputs that follow from `seed`.
fn executed(plan: &Plan, data_type: DataType, seed: &str, capabilities: &Capabilities) -> Vec<u8> {
    outputs(plan, data_type, seed, capabilities).swap_remove(0)
}

/// The bytes of all outputs, with inputs that follow from `seed`.
pub(super) fn outputs(
    plan: &Plan,
    data_type: DataType,
    seed: &str,
    capabilities: &Capabilities,
) -> Vec<Vec<u8>> {
    let mut random = Random::new(seed);
    let mut host = HostMemory::for_plan(plan);
    let input = |random: &mut Random, size: u64| {
        let words = (0..size.div_ceil(4)).flat_map(|_| match data_type {
            DataType::Float16 => (random.word() & 0x83ff_83ff | 0x3800_3800).to_le_bytes(),
            _ => (random.word() & 0x807f_ffff | 0x3f80_0000).to_le_bytes(),
        });
        HostBuffer { bytes: words.collect(), offset: 0, size }
    };
    let sizes = plan.inputs.iter().map(|it| it.as_ref().map(|it| it.size));
    host.inputs = sizes.map(|size| size.map(|size| input(&mut random, size))).collect();
    let output = |size: u64| {
        let bytes = vec![0xee; usize::try_from(size).unwrap()];
        HostBuffer { bytes, offset: 0, size }
    };
    let sizes = plan.outputs.iter().map(|it| it.as_ref().map(|it| it.size));
    host.outputs = sizes.map(|size| size.map(output)).collect();
    interpret(&plan.exec, &mut host, capabilities).unwrap();
    host.outputs.into_iter().flatten().map(|output| output.bytes).collect()
}

#[test]
fn softmax_and_norms_are_one_kernel_with_the_bits_of_their_members() {
    let [least, card] = [Capabilities::vulkan_minimum(), card()];
    let groups = Tuning::new().with_strategy(Strategy::RowGroups);
    let [alone, groups] =
        [(&least, Tuning::new()), (&card, groups)].map(|(capabilities, tuning)| Target {
            capabilities,
            tuning,
            transfer: TransferUse::Allowed,
        });
    let lengths = [2, 3, 4, 5, 15, 17, 64, 127, 128, 129, 130, 256, 500, 1001, 8191, 8192];
    for data_type in [DataType::Float32, DataType::Float16] {
        for (number, length) in lengths.into_iter().enumerate() {
            // Work groups have several rows, and not all of them.
            let rows = if length > 500 { 2 } else { 32 + u32::try_from(number).unwrap() };
            for desc in operators(data_type, rows, length) {
                let operator = validate(&desc, FeatureLevel::HIGHEST).unwrap();
                let name = operator.schema().name;
                let expected = of_members(&operator, data_type, &alone);
                for target in [&alone, &groups] {
                    let plan = crate::lower(&operator, target).unwrap();
                    let is_idle = rows < 32 && length > 128 && target.tuning.strategy.is_none();
                    let is_kept = data_type == DataType::Float16
                        && name == "ACTIVATION_SOFTMAX1"
                        && target.tuning.strategy.is_none();
                    if !is_idle && !is_kept {
                        assert_eq!(dispatches(&plan), 1, "{name} {data_type} {rows}x{length}");
                    }
                    let found = executed(&plan, data_type, name, target.capabilities);
                    assert!(found == expected, "{name} {data_type} {rows}x{length}: {target:?}");
                }
            }
        }
    }
}

/// The bytes of an operator whose nodes are a kernel each, as they were recorded.
fn of_members(operator: &Validated, data_type: DataType, target: &Target<'_>) -> Vec<u8> {
    let recorded = crate::implementation(operator).unwrap().recorded(operator, target);
    let members = plan(&recorded.unwrap(), target).unwrap();
    assert!(dispatches(&members) > 1, "{}", operator.schema().name);
    executed(&members, data_type, operator.schema().name, target.capabilities)
}

#[test]
fn a_work_group_goes_through_long_rows_in_turns() {
    let [least, card] = [Capabilities::vulkan_minimum(), card()];
    let transfer = TransferUse::Allowed;
    let alone = Target { capabilities: &least, tuning: Tuning::new(), transfer };
    let tuning = Tuning::new().with_strategy(Strategy::RowGroups);
    let groups = Target { capabilities: &card, tuning, transfer };
    for (length, data_type) in [
        (8_193, DataType::Float32),
        (16_384, DataType::Float32),
        (41_003, DataType::Float32),
        (24_576, DataType::Float16),
        (30_001, DataType::Float16),
    ] {
        for desc in operators(data_type, 2, length) {
            let operator = validate(&desc, FeatureLevel::HIGHEST).unwrap();
            let name = operator.schema().name;
            let expected = of_members(&operator, data_type, &alone);
            let plan = crate::lower(&operator, &groups).unwrap();
            assert_eq!(dispatches(&plan), 1, "{name} {data_type} {length}");
            let found = executed(&plan, data_type, name, &card);
            assert!(found == expected, "{name} {data_type} {length}");
        }
    }
}

#[test]
fn long_rows_have_work_groups_on_gpus_where_they_are_several() {
    let card = card();
    let tuning = Tuning::new().with_shared_tiles();
    let target = Target { capabilities: &card, tuning, transfer: TransferUse::Allowed };
    for (rows, is_one) in [(31, false), (32, true)] {
        let [softmax, ..] = &operators(DataType::Float32, rows, 10_000)[..] else { panic!() };
        let operator = validate(softmax, FeatureLevel::HIGHEST).unwrap();
        let plan = crate::lower(&operator, &target).unwrap();
        assert_eq!(dispatches(&plan) == 1, is_one, "{rows}");
    }
}

/// A group normalization: a row has several channels, each with a scale and a bias.
fn group_normalization(data_type: DataType, sizes: [u32; 4]) -> Validated {
    let tensor = || TensorDesc::packed(data_type, &sizes);
    let of_channels = || tensor().with_strides(&[0, sizes[2], 1, 0]);
    let desc = normalization(&tensor(), &of_channels(), vec![2, 3]);
    validate(&desc.into(), FeatureLevel::HIGHEST).unwrap()
}

/// Checks that a device with an invocation for each row and one with work groups give the bits of the members, in so many
/// dispatches.
fn check_group_normalization(data_type: DataType, sizes: [u32; 4], count: usize) {
    let [least, card] = [Capabilities::vulkan_minimum(), card()];
    let transfer = TransferUse::Allowed;
    let alone = Target { capabilities: &least, tuning: Tuning::new(), transfer };
    let tuning = Tuning::new().with_strategy(Strategy::RowGroups);
    let groups = Target { capabilities: &card, tuning, transfer };
    let operator = group_normalization(data_type, sizes);
    let name = operator.schema().name;
    let expected = of_members(&operator, data_type, &alone);
    for target in [&alone, &groups] {
        let plan = crate::lower(&operator, target).unwrap();
        // Few long rows have no kernel of their own where an invocation would have each.
        let is_idle = sizes[2] * sizes[3] > 128 && target.tuning.strategy.is_none();
        if !is_idle {
            assert_eq!(dispatches(&plan), count, "{data_type} {sizes:?} {target:?}");
        }
        let found = executed(&plan, data_type, name, target.capabilities);
        assert!(found == expected, "{data_type} {sizes:?} {target:?}");
    }
}

#[test]
fn what_goes_along_rows_unevenly_is_a_map_after_their_kernel() {
    for sizes in [[1, 4, 3, 20], [2, 3, 5, 50], [1, 2, 3, 3000]] {
        for data_type in [DataType::Float32, DataType::Float16] {
            check_group_normalization(data_type, sizes, 2);
        }
    }
}

#[test]
fn channels_of_a_power_of_two_elements_are_part_of_the_kernel() {
    for sizes in [[1, 4, 3, 32], [2, 3, 5, 4], [2, 3, 5, 64], [1, 2, 3, 4096]] {
        for data_type in [DataType::Float32, DataType::Float16] {
            check_group_normalization(data_type, sizes, 1);
        }
    }
}

/// The kernels of a plan, by the first words of their names, and their work groups.
fn kernels(plan: &Plan) -> Vec<(&'static str, u32)> {
    let dispatch = |step: &Step| match step {
        Step::Dispatch(it) => {
            let name = kind(step);
            Some((name.split(' ').next().unwrap_or(name), it.groups.iter().product()))
        }
        _ => None,
    };
    plan.exec.iter().filter_map(dispatch).collect()
}

#[test]
fn columns_have_work_groups_enough_to_keep_a_gpu_busy() {
    let capabilities = card();
    let tuning = Tuning::new().with_shared_tiles();
    let target = Target { capabilities: &capabilities, tuning, transfer: TransferUse::Allowed };
    let of = |sizes: [u32; 3]| {
        let desc = ReduceDesc {
            function: ReduceFunction::Sum,
            input_tensor: TensorDesc::packed(DataType::Float32, &sizes),
            output_tensor: TensorDesc::packed(DataType::Float32, &[sizes[0], 1, sizes[2]]),
            axes: vec![1],
        };
        let operator = validate(&desc.into(), FeatureLevel::HIGHEST).unwrap();
        kernels(&crate::lower(&operator, &target).unwrap())
    };
    // Parts of 512 rows in each of 64 work groups of 64 columns, and the states of 8 parts for each column.
    assert_eq!(of([1, 4096, 4096]), [("reduce_columns", 512), ("reduce_block_1", 64)]);
    // No parts where there are work groups enough.
    assert_eq!(of([8, 600, 4096]), [("reduce_columns", 512)]);
    assert_eq!(of([512, 600, 60]), [("reduce_columns", 512)]);
    // Few columns: a work group has all blocks of a part at one time.
    assert_eq!(of([1, 1 << 20, 3]), [("reduce_columns", 256), ("reduce_columns", 1)]);
    // So short columns have one invocation each.
    assert_eq!(of([64, 16, 64])[0].0, "reduce_block_2");
}

#[test]
fn the_greatest_of_a_long_row_is_two_dispatches() {
    let capabilities = card();
    let tuning = Tuning::new().with_shared_tiles();
    let target = Target { capabilities: &capabilities, tuning, transfer: TransferUse::Allowed };
    for function in [ReduceFunction::Max, ReduceFunction::Min] {
        let desc = ReduceDesc {
            function,
            input_tensor: TensorDesc::packed(DataType::Float32, &[1, 50_257]),
            output_tensor: TensorDesc::packed(DataType::Float32, &[1, 1]),
            axes: vec![1],
        };
        let operator = validate(&desc.into(), FeatureLevel::HIGHEST).unwrap();
        let plan = crate::lower(&operator, &target).unwrap();
        assert_eq!(dispatches(&plan), 2, "{function:?}");
        // As `executed` writes them.
        let mut random = Random::new("greatest");
        let all: Vec<u32> =
            (0..50_257).map(|_| random.word() & 0x807f_ffff | 0x3f80_0000).collect();
        let all = all.into_iter().map(f32::from_bits);
        let extreme = match function {
            ReduceFunction::Max => all.fold(f32::NEG_INFINITY, f32::max),
            _ => all.fold(f32::INFINITY, f32::min),
        };
        let found = executed(&plan, DataType::Float32, "greatest", &capabilities);
        assert_eq!(found[..4], extreme.to_le_bytes(), "{function:?}");
    }
}

#[test]
fn states_of_columns_have_their_bits_where_a_descriptor_shows_few_of_them() {
    let least = Capabilities::vulkan_minimum();
    let mut narrow = card();
    narrow.limits.max_storage_buffer_range =
        4096 + narrow.limits.min_storage_buffer_offset_alignment;
    let groups = Tuning::new().with_strategy(Strategy::RowGroups);
    let sizes = [32, 1024, 4];
    for function in [ReduceFunction::Sum, ReduceFunction::L2] {
        let desc = ReduceDesc {
            function,
            input_tensor: TensorDesc::packed(DataType::Float32, &sizes),
            output_tensor: TensorDesc::packed(DataType::Float32, &[sizes[0], 1, sizes[2]]),
            axes: vec![1],
        };
        let operator = validate(&desc.into(), FeatureLevel::HIGHEST).unwrap();
        let result = |capabilities, tuning| {
            let target = Target { capabilities, tuning, transfer: TransferUse::Allowed };
            let plan = crate::lower(&operator, &target).unwrap();
            executed(&plan, DataType::Float32, "states", capabilities)
        };
        assert!(result(&least, Tuning::new()) == result(&narrow, groups), "{function:?}");
    }
}
