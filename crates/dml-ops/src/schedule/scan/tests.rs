//! Work groups give the bits of passes, in few dispatches.

use dml_core::operators::{CumulativeProductDesc, CumulativeSummationDesc};
use dml_core::plan::Plan;
use dml_core::{
    AbstractOperator, AxisDirection, Capabilities, DataType, Strategy, TensorDesc, Tuning,
};
use dml_reference::Random;

use crate::tests::{
    check_limits, kinds, lower_for, lower_with, on_all_processors, outputs_on_host, with_window,
};
use crate::{Target, TransferUse};

const TYPES: [DataType; 6] = [
    DataType::Float32,
    DataType::Float16,
    DataType::Int32,
    DataType::Uint32,
    DataType::Int64,
    DataType::Uint64,
];

/// A running sum and a running product along a dimension.
struct Sums {
    data_type: DataType,
    sizes: Vec<u32>,
    axis: u32,
    is_exclusive: bool,
    direction: AxisDirection,
}

impl Sums {
    fn new(data_type: DataType, sizes: &[u32], axis: u32) -> Self {
        let (is_exclusive, direction) = (false, AxisDirection::Increasing);
        Self { data_type, sizes: sizes.to_vec(), axis, is_exclusive, direction }
    }

    /// The sum, and the product.
    fn operators(&self) -> [AbstractOperator; 2] {
        let tensor = TensorDesc::packed(self.data_type, &self.sizes);
        let (axis, axis_direction) = (self.axis, self.direction);
        let sum = CumulativeSummationDesc {
            input_tensor: tensor.clone(),
            output_tensor: tensor.clone(),
            axis,
            axis_direction,
            has_exclusive_sum: self.is_exclusive,
        };
        let product = CumulativeProductDesc {
            input_tensor: tensor.clone(),
            output_tensor: tensor,
            axis,
            axis_direction,
            has_exclusive_product: self.is_exclusive,
        };
        [sum.into(), product.into()]
    }

    fn sum(&self) -> AbstractOperator {
        let [sum, _] = self.operators();
        sum
    }
}

fn shared() -> Tuning {
    Tuning::new().with_shared_tiles()
}

fn in_groups(plan: &Plan) -> usize {
    kinds(plan).into_iter().filter(|it| it.starts_with("scan_")).count()
}

/// Any bits: of floats some are NaN, infinite, zeros with a sign, or subnormal, most have some magnitude.
fn elements(random: &mut Random, data_type: DataType, count: usize) -> Vec<u8> {
    let mut bytes = vec![];
    for _ in 0..count {
        let bits = match data_type {
            DataType::Float32 if !random.one_in(50) => {
                (random.bits() & 0x807f_ffff) | u64::from(126 + random.below(3)) << 23
            }
            DataType::Float16 => (random.bits() & 0x83ff) | 0x3800,
            _ => random.bits(),
        };
        bytes.extend(&bits.to_le_bytes()[..data_type.bits() as usize / 8]);
    }
    bytes
}

/// Checks that both schedules, the latter wherever it applies, have the same bytes, and returns how many dispatches share.
fn check(random: &mut Random, sums: &Sums, capabilities: &Capabilities) -> usize {
    let count = sums.sizes.iter().product::<u32>() as usize;
    let mut most = 0;
    for operator in sums.operators() {
        let input = elements(random, sums.data_type, count);
        let forced = Tuning::new().with_strategy(Strategy::RowGroups);
        let [passes, groups] = [Tuning::new(), forced].map(|tuning| {
            let target = Target { capabilities, tuning, transfer: TransferUse::StorageOnly };
            let plan = lower_for(operator.clone(), &target);
            check_limits(&plan, &target);
            plan
        });
        assert_eq!(in_groups(&passes), 0);
        most = most.max(in_groups(&groups));
        let outputs = [passes, groups]
            .map(|plan| outputs_on_host(&plan, std::slice::from_ref(&input), capabilities));
        assert!(outputs[0] == outputs[1], "{:?} {:?}", sums.data_type, sums.sizes);
    }
    most
}

#[test]
fn work_groups_join_in_the_order_of_passes() {
    let capabilities = &Capabilities::vulkan_minimum();
    let mut random = Random::new("scan in groups");
    for length in [1, 2, 3, 127, 128, 129, 1023, 1024, 1025, 2047, 2048, 2049, 3100] {
        for data_type in TYPES {
            let dispatches =
                check(&mut random, &Sums::new(data_type, &[2, length], 1), capabilities);
            let expected = match length {
                1 => 0,
                ..=2048 => 1,
                _ => 2,
            };
            assert_eq!(dispatches, expected, "{length}");
        }
    }
}

#[test]
fn rows_of_any_dimension_direction_and_kind_are_joined_alike() {
    let capabilities = &Capabilities::vulkan_minimum();
    let mut random = Random::new("scan of columns");
    for (sizes, axis) in [
        ([3, 40, 5], 1),
        ([1, 300, 9], 1),
        ([2, 257, 8], 1),
        ([700, 2, 3], 0),
        ([2, 5, 77], 2),
        ([90, 3, 5], 1),
    ] {
        for data_type in [DataType::Float32, DataType::Int64, DataType::Float16] {
            for is_exclusive in [false, true] {
                let direction =
                    random.pick(&[AxisDirection::Increasing, AxisDirection::Decreasing]);
                let sums = Sums { is_exclusive, direction, ..Sums::new(data_type, &sizes, axis) };
                assert!(check(&mut random, &sums, capabilities) > 0);
            }
        }
    }
}

#[test]
fn rows_that_take_three_stages_are_joined_alike() {
    let capabilities = &Capabilities::vulkan_minimum();
    let rows = [([1, (1 << 18) + 5, 1], 1), ([1, 33_000, 8], 1)];
    let dispatches = on_all_processors(&rows, |(sizes, axis)| {
        let sums = Sums::new(DataType::Float32, sizes, *axis);
        check(&mut Random::new("scan in three stages"), &sums, capabilities)
    });
    assert_eq!(dispatches, [3, 3]);
}

#[test]
fn rows_that_a_descriptor_shows_are_joined_by_work_groups_and_others_in_passes() {
    let mut random = Random::new("scan in windows");
    let capabilities = &with_window(4096, 64);
    let sums = |length| Sums::new(DataType::Float32, &[7, length], 1);
    assert_eq!(check(&mut random, &sums(400), capabilities), 4);
    assert_eq!(check(&mut random, &sums(1025), capabilities), 0);
    // The elements next to each other are those of columns.
    let columns = Sums::new(DataType::Int64, &[5, 100, 5], 1);
    assert_eq!(check(&mut random, &columns, capabilities), 5);
}

#[test]
fn rows_take_few_dispatches_on_gpus() {
    let plan = |sums: &Sums| lower_with(sums.sum(), shared(), TransferUse::Allowed);
    let counts = |sums: &Sums| (plan(sums).exec.len(), in_groups(&plan(sums)));
    for data_type in TYPES {
        assert_eq!(counts(&Sums::new(data_type, &[1024, 1024], 1)), (3, 1), "{data_type}");
        assert_eq!(counts(&Sums::new(data_type, &[1024, 1024], 0)), (4, 2), "{data_type}");
    }
    // A work group for each of these rows would be idle.
    assert_eq!(counts(&Sums::new(DataType::Float32, &[65_536, 16, 2], 1)).1, 0);
    let exclusive = Sums { is_exclusive: true, ..Sums::new(DataType::Float32, &[1024, 1024], 1) };
    assert_eq!(counts(&exclusive), (4, 1));
    let long = Sums::new(DataType::Float32, &[1, 1 << 20], 1);
    assert_eq!(counts(&long), (5, 3));
    assert_eq!(plan(&long).strategy, Strategy::RowGroups);
    // As many as there were.
    let passes = Sums::new(DataType::Float32, &[1024, 1024], 1).sum();
    let passes = lower_with(passes, Tuning::new(), TransferUse::Allowed);
    assert_eq!(passes.exec.len(), 42);
}
