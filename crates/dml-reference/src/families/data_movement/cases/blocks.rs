//! The corner cases of TILE, SPACE_TO_DEPTH and DEPTH_TO_SPACE.

use dml_core::{DataType, DepthSpaceOrder, FieldValue};

use super::{Corner, Corners, other_count};
use crate::Random;

/// Sizes that are odd unless they are 1 or 2.
const SIZES: [u32; 8] = [1, 2, 1, 2, 1, 3, 2, 5];

pub(in super::super) static TILE: Corners =
    Corners { all: tiles, broken: broken_tiles, random: random_tile };
pub(in super::super) static SPACE_TO_DEPTH: Corners = Corners {
    all: |rank| all(rank, false, true),
    broken: |rank| broken(rank, false, true),
    random: |random, rank| any(random, rank, false, true),
};
pub(in super::super) static SPACE_TO_DEPTH1: Corners = Corners {
    all: |rank| all(rank, true, true),
    broken: |rank| broken(rank, true, true),
    random: |random, rank| any(random, rank, true, true),
};
pub(in super::super) static DEPTH_TO_SPACE: Corners = Corners {
    all: |rank| all(rank, false, false),
    broken: |rank| broken(rank, false, false),
    random: |random, rank| any(random, rank, false, false),
};
pub(in super::super) static DEPTH_TO_SPACE1: Corners = Corners {
    all: |rank| all(rank, true, false),
    broken: |rank| broken(rank, true, false),
    random: |random, rank| any(random, rank, true, false),
};

fn tile(name: &'static str, input: &[u32], repeats: &[u32]) -> Corner {
    let output: Vec<u32> = input.iter().zip(repeats).map(|(size, times)| size * times).collect();
    Corner::new(name, input, &output, [FieldValue::UintArray(repeats.to_vec())])
}

fn tiles(rank: usize) -> Vec<Corner> {
    let input = &SIZES[8 - rank..];
    let repeats = |of: &dyn Fn(usize) -> u32| (0..rank).map(of).collect::<Vec<u32>>();
    let last = rank - 1;
    // From rank 5 on, more repeated dimensions than an iteration space has.
    let twos: Vec<u32> = (0..rank).map(|at| if at < 5 { 2 } else { 1 }).collect();
    let mut long = vec![1; rank];
    long[last] = 1100;
    vec![
        tile("two_dimensions", input, &repeats(&|at| [1, 1, 3, 2][(at + 3 - last % 4) % 4])),
        tile("once", input, &vec![1; rank]),
        tile("first_dimension", input, &repeats(&|at| if at == 0 { 3 } else { 1 })),
        tile("last_dimension", input, &repeats(&|at| if at == last { 7 } else { 1 })),
        tile("many_dimensions", &twos, &twos),
        tile("single_element", &vec![1; rank], &repeats(&|at| if at == last { 37 } else { 1 })),
        tile("long_rows", &long, &repeats(&|at| if at == 0 { 3 } else { 1 })),
        tile("minimal", &vec![1; rank], &vec![1; rank]),
    ]
}

fn broken_tiles(rank: usize) -> Vec<(Corner, &'static str)> {
    let ok = |name| tile(name, &vec![2; rank], &vec![2; rank]);
    let mut larger = ok("rule_repeats_do_not_multiply");
    larger.output[0] = 5;
    let mut none = ok("rule_no_repeats");
    none.attributes = vec![FieldValue::UintArray(vec![0; rank])];
    vec![
        (larger, "OutputTensor.Sizes[0]"),
        (none, "OutputTensor.Sizes[0]"),
        (other_count(ok("")), "RepeatsCount"),
    ]
}

fn random_tile(random: &mut Random, rank: usize) -> Corner {
    let input = random.sizes(rank);
    let mut left = 4;
    let repeats: Vec<u32> = input
        .iter()
        .map(|_| {
            let times = 1 + random.below(left);
            left = (left / times).max(1);
            times
        })
        .collect();
    tile("random", &input, &repeats)
}

/// The operator for tensors where the deeper one has `channels` channels per block position.
fn blocks(
    name: &'static str,
    to_depth: bool,
    block: u32,
    order: Option<DepthSpaceOrder>,
    [batches, channels, height, width]: [u32; 4],
) -> Corner {
    let depth = [batches, channels * block * block, height, width];
    let space = [batches, channels, height * block, width * block];
    let attributes = [block].into_iter().chain(order.map(DepthSpaceOrder::dml_value));
    let attributes: Vec<FieldValue> = attributes.map(FieldValue::Uint).collect();
    let [input, output] = if to_depth { [space, depth] } else { [depth, space] };
    Corner::new(name, &input, &output, attributes)
}

fn all(rank: usize, has_order: bool, to_depth: bool) -> Vec<Corner> {
    use DepthSpaceOrder::{ColumnRowDepth, DepthColumnRow};
    let order = |order| has_order.then_some(order);
    let mut minimal = blocks("minimal", to_depth, 1, order(DepthColumnRow), [1; 4]);
    if rank != 4 {
        (minimal.input, minimal.output) = (vec![1; rank], vec![1; rank]);
        return vec![minimal];
    }
    let of = |name, block, sizes| blocks(name, to_depth, block, order(DepthColumnRow), sizes);
    let mut corners = vec![
        of("depth_column_row", 2, [2, 3, 3, 5]),
        of("block_of_3", 3, [1, 2, 1, 4]),
        of("block_of_1", 1, [2, 3, 2, 5]),
        of("one_block", 5, [1, 1, 1, 1]),
        of("wide_rows", 2, [1, 1, 3, 130]),
    ];
    if has_order {
        let of = |name, block, sizes| blocks(name, to_depth, block, order(ColumnRowDepth), sizes);
        corners.push(of("column_row_depth", 2, [2, 3, 3, 5]));
        corners.push(of("column_row_depth_of_3", 3, [1, 2, 1, 4]));
        corners.extend([DepthColumnRow, ColumnRowDepth].map(|order| printed(to_depth, order)));
    }
    corners.push(minimal);
    corners
}

/// The elements that the documentation prints.
fn printed(to_depth: bool, order: DepthSpaceOrder) -> Corner {
    let depth: Vec<u16> = (0..48).map(|at| at / 6 * 9 + at % 6).collect();
    let (name, space): (_, [u16; 48]) = match order {
        DepthSpaceOrder::DepthColumnRow => (
            "doc_depth_column_row",
            [
                0, 18, 1, 19, 2, 20, 36, 54, 37, 55, 38, 56, 3, 21, 4, 22, 5, 23, 39, 57, 40, 58,
                41, 59, 9, 27, 10, 28, 11, 29, 45, 63, 46, 64, 47, 65, 12, 30, 13, 31, 14, 32, 48,
                66, 49, 67, 50, 68,
            ],
        ),
        DepthSpaceOrder::ColumnRowDepth => (
            "doc_column_row_depth",
            [
                0, 9, 1, 10, 2, 11, 18, 27, 19, 28, 20, 29, 3, 12, 4, 13, 5, 14, 21, 30, 22, 31,
                23, 32, 36, 45, 37, 46, 38, 47, 54, 63, 55, 64, 56, 65, 39, 48, 40, 49, 41, 50, 57,
                66, 58, 67, 59, 68,
            ],
        ),
    };
    let corner = blocks(name, to_depth, 2, Some(order), [1, 2, 2, 3]);
    let (input, output) =
        if to_depth { (&space[..], &depth[..]) } else { (&depth[..], &space[..]) };
    corner.documented(DataType::Uint32, input, output)
}

fn broken(rank: usize, has_order: bool, to_depth: bool) -> Vec<(Corner, &'static str)> {
    if rank != 4 {
        return vec![];
    }
    let order = has_order.then_some(DepthSpaceOrder::DepthColumnRow);
    let ok = |name| blocks(name, to_depth, 2, order, [1, 1, 2, 2]);
    let mut no_block = ok("rule_block_of_0");
    no_block.attributes[0] = FieldValue::Uint(0);
    let mut huge = ok("rule_huge_block");
    huge.attributes[0] = FieldValue::Uint(u32::MAX);
    let mut larger = ok("rule_output_of_another_size");
    larger.output[3] += 1;
    let divided = if to_depth { "InputTensor.Sizes[2]" } else { "InputTensor.Sizes[1]" };
    vec![(no_block, "BlockSize"), (huge, divided), (larger, "OutputTensor.Sizes[3]")]
}

fn any(random: &mut Random, rank: usize, has_order: bool, to_depth: bool) -> Corner {
    if rank != 4 {
        return all(rank, has_order, to_depth).remove(0);
    }
    let mut sizes = [0; 4];
    let drawn = random.sizes(rank);
    sizes.iter_mut().zip(drawn).for_each(|(size, drawn)| *size = drawn.min(60));
    let order = random.pick(&DepthSpaceOrder::ALL);
    let block = 1 + random.below(3);
    blocks("random", to_depth, block, has_order.then_some(order), sizes)
}
