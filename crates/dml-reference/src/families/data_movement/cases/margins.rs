//! The corner cases of PADDING and PADDING1.

use std::borrow::Cow;

use dml_core::{DataType, FieldValue, PaddingMode, ScalarUnion};

use super::{Corner, Corners, other_count, other_rank};
use crate::{MIXED, Random};

/// Sizes that are odd unless they are 1 or 2.
const SIZES: [u32; 8] = [1, 2, 1, 2, 1, 2, 3, 5];

pub(in super::super) static PADDING: Corners = Corners {
    all: |rank| with_values(rank, &|| FieldValue::Float(10.6)),
    broken: |rank| broken(rank, &FieldValue::Float(0.0)),
    random: |random, rank| {
        let value = random.pick(&[0.0, -0.0, 1.5, -3.7, 1e30, f32::NAN, f32::NEG_INFINITY]);
        drawn(random, rank, FieldValue::Float(value))
    },
};
pub(in super::super) static PADDING1: Corners = Corners {
    all: |rank| {
        let value = || FieldValue::ScalarUnion(ScalarUnion::from_bits(MIXED));
        let mut corners = with_values(rank, &value);
        if rank == 4 {
            corners.splice(1..1, PaddingMode::ALL.into_iter().filter_map(printed));
        }
        corners
    },
    broken: |rank| broken(rank, &FieldValue::ScalarUnion(ScalarUnion::from_bits(0))),
    random: |random, rank| {
        let value = ScalarUnion::from_bits(random.bits());
        drawn(random, rank, FieldValue::ScalarUnion(value))
    },
};

/// An input with padding at the start and end of each dimension.
fn padded(
    name: impl Into<Cow<'static, str>>,
    mode: PaddingMode,
    value: &FieldValue,
    input: &[u32],
    margins: &[[u32; 2]],
) -> Corner {
    let [start, end]: [Vec<u32>; 2] =
        [0, 1].map(|which| margins.iter().map(|margin| margin[which]).collect());
    let output: Vec<u32> =
        input.iter().zip(margins).map(|(size, [start, end])| size + start + end).collect();
    let mode = FieldValue::Uint(mode.dml_value());
    let [start, end] = [start, end].map(FieldValue::UintArray);
    Corner::new(name, input, &output, [mode, value.clone(), start, end])
}

/// Padding for the last dimensions, as far as the rank allows.
fn last(rank: usize, margins: &[[u32; 2]]) -> Vec<[u32; 2]> {
    let mut all = vec![[0; 2]; rank.saturating_sub(margins.len())];
    all.extend(&margins[margins.len().saturating_sub(rank)..]);
    all
}

fn with_values(rank: usize, value: &dyn Fn() -> FieldValue) -> Vec<Corner> {
    let input = &SIZES[8 - rank..];
    let of = |name: &str, mode: PaddingMode, margins: &[[u32; 2]]| {
        padded(format!("{name}_{}", mode_name(mode)), mode, &value(), input, &last(rank, margins))
    };
    let mut corners = vec![];
    for mode in PaddingMode::ALL {
        corners.push(of("both_margins", mode, &[[0, 1], [2, 1], [1, 3]]));
        corners.push(of("periods", mode, &[[9, 14], [23, 12]]));
    }
    let mut long = vec![1; rank];
    long[rank - 1] = 1200;
    let long = |mode| {
        let (name, margins) = (format!("long_rows_{}", mode_name(mode)), [[1, 0], [5, 300]]);
        padded(name, mode, &value(), &long, &last(rank, &margins))
    };
    corners.extend([
        of("no_margins", PaddingMode::Constant, &[]),
        of("no_margins", PaddingMode::Wrap, &[]),
        of("every_margin", PaddingMode::Constant, &[[1, 1]; 8]),
        of("start_alone", PaddingMode::Edge, &[[2, 0], [0, 0]]),
        of("end_alone", PaddingMode::Constant, &[[0, 0], [0, 2]]),
        long(PaddingMode::Constant),
        long(PaddingMode::Reflection),
    ]);
    let first = padded(
        "first_dimension_symmetric",
        PaddingMode::Symmetric,
        &value(),
        input,
        &(0..rank).map(|at| if at == 0 { [3, 2] } else { [0, 0] }).collect::<Vec<_>>(),
    );
    corners.push(first);
    let one = vec![1; rank];
    corners.push(padded("minimal", PaddingMode::Constant, &value(), &one, &vec![[0; 2]; rank]));
    corners
}

fn mode_name(mode: PaddingMode) -> String {
    mode.name().to_ascii_lowercase()
}

/// The elements that the documentation prints for a mode.
fn printed(mode: PaddingMode) -> Option<Corner> {
    const ROWS: [[u16; 4]; 2] = [[1, 2, 3, 4], [5, 6, 7, 8]];
    // The page prints rows of 10 elements of two kinds, in this order.
    let (columns, rows): ([usize; 10], [usize; 8]) = match mode {
        PaddingMode::Edge => ([0, 0, 0, 1, 2, 3, 3, 3, 3, 3], [0, 0, 1, 0, 1, 1, 1, 1]),
        PaddingMode::Reflection => ([2, 1, 0, 1, 2, 3, 2, 1, 0, 1], [1, 0, 1, 0, 1, 0, 1, 0]),
        PaddingMode::Symmetric => ([1, 0, 0, 1, 2, 3, 3, 2, 1, 0], [0, 0, 1, 0, 1, 1, 0, 1]),
        PaddingMode::Constant | PaddingMode::Wrap => return None,
    };
    let output: Vec<u16> =
        rows.iter().flat_map(|row| columns.map(|column| ROWS[*row][column])).collect();
    let input = [ROWS, ROWS].concat().concat();
    let name = format!("doc_{}", mode_name(mode));
    let value = FieldValue::ScalarUnion(ScalarUnion::from_bits(0));
    let margins = [[0, 0], [0, 0], [1, 3], [2, 4]];
    let corner = padded(name, mode, &value, &[1, 1, 4, 4], &margins);
    Some(corner.documented(DataType::Float32, &input, &output))
}

fn broken(rank: usize, value: &FieldValue) -> Vec<(Corner, &'static str)> {
    let input = vec![2; rank];
    let ok = |name| padded(name, PaddingMode::Constant, value, &input, &vec![[1, 0]; rank]);
    let mut larger = ok("rule_margins_do_not_add_up");
    larger.output[0] = 4;
    let mut wrapping = ok("rule_margins_wrap_around");
    if let FieldValue::UintArray(start) = &mut wrapping.attributes[2] {
        start[0] = u32::MAX;
    }
    vec![
        (larger, "OutputTensor.Sizes[0]"),
        (wrapping, "OutputTensor.Sizes[0]"),
        (other_count(ok("")), "DimensionCount"),
        (other_rank(ok("")), "OutputTensor.DimensionCount"),
    ]
}

fn drawn(random: &mut Random, rank: usize, value: FieldValue) -> Corner {
    let mut input = random.sizes(rank);
    input.iter_mut().for_each(|size| *size = (*size).min(300));
    let mode = random.pick(&PaddingMode::ALL);
    let mut margins = vec![[0; 2]; rank];
    for _ in 0..=random.below(2) {
        let at = random.below(u32::try_from(rank).unwrap_or(1)) as usize;
        let most = random.pick(&[2, 4, 9]);
        margins[at] = [random.below(most), random.below(most)];
    }
    padded("random", mode, &value, &input, &margins)
}
