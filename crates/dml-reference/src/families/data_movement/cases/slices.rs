//! The corner cases of SLICE, SLICE1 and SLICE_GRAD.

use dml_core::{DataType, FieldValue};

use super::{Corner, Corners, other_count, other_rank};
use crate::Random;

/// Sizes that are odd unless they are 1 or 2.
const SIZES: [u32; 8] = [2, 1, 2, 1, 3, 2, 5, 7];

pub(in super::super) static SLICE: Corners =
    Corners { all: slices, broken: broken_slices, random: random_slice };
pub(in super::super) static SLICE1: Corners =
    Corners { all: windows, broken: broken_windows, random: random_window };
pub(in super::super) static SLICE_GRAD: Corners = Corners {
    all: |rank| {
        let of_slice1 = windows(rank).into_iter();
        of_slice1.filter(|corner| corner.documented.is_none()).map(turned).collect()
    },
    broken: |rank| {
        let of_slice1 = broken_windows(rank).into_iter();
        let name = |field: &'static str| match field {
            "OutputTensor.Sizes[0]" => "InputGradientTensor.Sizes[0]",
            "OutputTensor.DimensionCount" => "InputGradientTensor.DimensionCount",
            other => other,
        };
        of_slice1.map(|(corner, field)| (turned(corner), name(field))).collect()
    },
    random: |random, rank| turned(random_window(random, rank)),
};

/// The corner case of SLICE_GRAD for one of SLICE1: input and output are exchanged.
fn turned(corner: Corner) -> Corner {
    Corner { input: corner.output, output: corner.input, ..corner }
}

fn sizes(rank: usize) -> Vec<u32> {
    SIZES[8 - rank..].to_vec()
}

/// A slice, given by the offset, size and stride of each dimension.
fn slice(name: &'static str, input: &[u32], of: impl Fn(usize, u32) -> [u32; 3]) -> Corner {
    let all: Vec<[u32; 3]> = input.iter().enumerate().map(|(at, size)| of(at, *size)).collect();
    let [offsets, sizes, strides]: [Vec<u32>; 3] =
        [0, 1, 2].map(|which| all.iter().map(|it| it[which]).collect());
    let arrays = [offsets, sizes.clone(), strides].map(FieldValue::UintArray);
    Corner::new(name, input, &sizes, arrays)
}

fn slices(rank: usize) -> Vec<Corner> {
    let input = &sizes(rank);
    let last = rank - 1;
    let mut long = vec![1; rank];
    long[last] = 1500;
    let mut corners = vec![
        slice("odd_offsets", input, |_, size| [u32::from(size > 1), (size - 1).max(1), 1]),
        slice("whole", input, |_, size| [0, size, 1]),
        slice("every_second", input, |_, size| [0, size.div_ceil(2), 2]),
        slice("last_elements", input, |_, size| [size - 1, 1, u32::MAX]),
        slice("last_dimension_in_steps", input, |at, size| match at {
            _ if at == last => [1, 2, 3],
            _ => [0, size, 1],
        }),
        slice("first_dimension_alone", input, |at, size| match at {
            0 => [size / 2, size - size / 2, 1],
            _ => [0, size, 1],
        }),
        slice("long_rows", &long, |at, _| if at == last { [37, 1024, 1] } else { [0, 1, 1] }),
    ];
    if rank == 4 {
        let one_to_16: Vec<u16> = (1..=16).collect();
        let printed = |_, size| if size == 1 { [0, 1, 1] } else { [1, 3, 1] };
        let all = slice("doc_contiguous", &[1, 1, 4, 4], |at, size| match at {
            3 => [2, 2, 1],
            _ => printed(at, size),
        });
        let output = [7, 8, 11, 12, 15, 16];
        corners.push(all.documented(DataType::Float32, &one_to_16, &output));
    }
    corners.push(slice("minimal", &vec![1; rank], |_, _| [0, 1, 1]));
    corners
}

fn broken_slices(rank: usize) -> Vec<(Corner, &'static str)> {
    let input = &vec![4; rank];
    let first = |name, it: [u32; 3]| {
        slice(name, input, move |at, size| if at == 0 { it } else { [0, size, 1] })
    };
    let array = if rank > 1 { "Strides[0]" } else { "Strides" };
    let mut other_size = first("rule_size_is_not_the_outputs", [0, 2, 1]);
    other_size.output[0] = 3;
    vec![
        (first("rule_stride_is_0", [0, 2, 0]), array),
        (first("rule_slice_ends_outside", [1, 2, 3]), "Offsets[0]"),
        (first("rule_slice_ends_far_outside", [u32::MAX, 2, u32::MAX]), "Offsets[0]"),
        (other_size, "Sizes[0]"),
        (other_count(slice("", input, |_, size| [0, size, 1])), "DimensionCount"),
        (other_rank(slice("", input, |_, size| [0, size, 1])), "OutputTensor.DimensionCount"),
    ]
}

fn random_slice(random: &mut Random, rank: usize) -> Corner {
    let input = random.sizes(rank);
    let drawn: Vec<[u32; 3]> = input
        .iter()
        .map(|size| {
            let (offset, stride) = (random.below(*size), 1 + random.below(3));
            [offset, 1 + random.below((size - 1 - offset) / stride + 1), stride]
        })
        .collect();
    slice("random", &input, |at, _| drawn[at])
}

/// A window slice, given for each dimension by the window's offset, size and stride, and the number of elements
/// taken.
fn window(
    name: &'static str,
    input: &[u32],
    of: impl Fn(usize, u32) -> (u32, u32, i32, u32),
) -> Corner {
    let all: Vec<_> = input.iter().enumerate().map(|(at, size)| of(at, *size)).collect();
    let attributes = [
        FieldValue::UintArray(all.iter().map(|it| it.0).collect()),
        FieldValue::UintArray(all.iter().map(|it| it.1).collect()),
        FieldValue::IntArray(all.iter().map(|it| it.2).collect()),
    ];
    let output: Vec<u32> = all.iter().map(|it| it.3).collect();
    Corner::new(name, input, &output, attributes)
}

fn windows(rank: usize) -> Vec<Corner> {
    let input = &sizes(rank);
    let last = rank - 1;
    let mut long = vec![1; rank];
    long[last] = 1500;
    let mixed = |at: usize, size: u32| match (at + rank) % 3 {
        0 => (0, size, -2, size.div_ceil(2)),
        1 => (u32::from(size > 1), (size - 1).max(1), 2, size.div_ceil(3)),
        _ => (0, size, -1, size),
    };
    let mut corners = vec![
        window("steps_of_both_signs", input, mixed),
        window("whole", input, |_, size| (0, size, 1, size)),
        window("reversed", input, |_, size| (0, size, -1, size)),
        window("last_dimension_reversed", input, |at, size| match at {
            _ if at == last => (1, size - 1, -1, size - 1),
            _ => (0, size, 1, size),
        }),
        window("window_is_not_used_up", input, |_, size| (0, size, -1, size.div_ceil(2))),
        window("steps_longer_than_the_window", input, |_, size| (size / 2, 1, i32::MIN, 1)),
        window("long_rows", &long, |at, _| match at {
            _ if at == last => (37, 1024, 1, 1024),
            _ => (0, 1, 1, 1),
        }),
    ];
    if rank == 4 {
        let one_to_16: Vec<u16> = (1..=16).collect();
        let printed = |name, stride: i32, output: [u16; 4]| {
            let all = [(0, 1, 1, 1), (0, 1, 1, 1), (0, 4, stride, 2), (1, 3, 2, 2)];
            let corner = window(name, &[1, 1, 4, 4], |at, _| all[at]);
            corner.documented(DataType::Float32, &one_to_16, &output)
        };
        corners.push(printed("doc_positive_strides", 2, [2, 4, 10, 12]));
        corners.push(printed("doc_negative_strides", -2, [14, 16, 6, 8]));
    }
    corners.push(window("minimal", &vec![1; rank], |_, _| (0, 1, 1, 1)));
    corners
}

fn broken_windows(rank: usize) -> Vec<(Corner, &'static str)> {
    let input = &vec![4; rank];
    let first = |name, it| {
        window(name, input, move |at, size| if at == 0 { it } else { (0, size, 1, size) })
    };
    let of = |array: [&'static str; 2]| array[usize::from(rank > 1)];
    vec![
        (
            first("rule_stride_is_0", (0, 4, 0, 1)),
            of(["InputWindowStrides", "InputWindowStrides[0]"]),
        ),
        (
            first("rule_window_is_empty", (0, 0, 1, 1)),
            of(["InputWindowSizes", "InputWindowSizes[0]"]),
        ),
        (first("rule_window_ends_outside", (2, 3, -1, 1)), "InputWindowOffsets[0]"),
        (first("rule_window_ends_far_outside", (u32::MAX, 1, 1, 1)), "InputWindowOffsets[0]"),
        (first("rule_more_than_the_window_has", (0, 4, -2, 3)), "OutputTensor.Sizes[0]"),
        (other_count(window("", input, |_, size| (0, size, 1, size))), "DimensionCount"),
        (
            other_rank(window("", input, |_, size| (0, size, 1, size))),
            "OutputTensor.DimensionCount",
        ),
    ]
}

fn random_window(random: &mut Random, rank: usize) -> Corner {
    let input = random.sizes(rank);
    let drawn: Vec<_> = input
        .iter()
        .map(|size| {
            let offset = random.below(*size);
            let window = 1 + random.below(size - offset);
            let stride = random.pick(&[1, 1, 2, 3, -1, -1, -2, -3, i32::MAX, i32::MIN]);
            let most = 1 + (window - 1) / stride.unsigned_abs();
            let taken = if random.one_in(3) { 1 + random.below(most) } else { most };
            (offset, window, stride, taken)
        })
        .collect();
    window("random", &input, |at, _| drawn[at])
}
