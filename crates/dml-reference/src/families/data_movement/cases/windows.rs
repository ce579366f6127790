//! The corner cases of UNFOLD and FOLD.

use dml_core::FieldValue;

use super::{Corner, Corners, Layout, other_count};
use crate::Random;

pub(in super::super) static UNFOLD: Corners = Corners {
    all: |rank| all(rank, Columns::Made),
    broken: |rank| broken(rank, Columns::Made),
    random: |random, rank| drawn(random, rank, Columns::Made),
};
pub(in super::super) static FOLD: Corners = Corners {
    all: |rank| all(rank, Columns::Read),
    broken: |rank| broken(rank, Columns::Read),
    random: |random, rank| drawn(random, rank, Columns::Read),
};

/// Whether the operator makes or reads columns.
#[derive(Clone, Copy, PartialEq)]
enum Columns {
    Made,
    Read,
}

/// The windows along a dimension.
#[derive(Clone, Copy)]
struct Along {
    size: u32,
    window: u32,
    step: u32,
    dilation: u32,
    padding: [u32; 2],
}

const ONE: Along = Along { size: 1, window: 1, step: 1, dilation: 1, padding: [0; 2] };

/// Overlapping windows of three elements, with padding.
const USUAL: Along = Along { size: 5, window: 3, padding: [1; 2], ..ONE };

impl Along {
    /// The number of windows; 1 for operators that break a rule.
    fn windows(&self) -> u32 {
        let [start, end] = self.padding;
        let padded = self.size.checked_add(start).and_then(|it| it.checked_add(end));
        let reach = self.window.saturating_sub(1) * self.dilation;
        let room = padded.and_then(|padded| padded.checked_sub(reach + 1));
        room.map_or(1, |room| room / self.step.max(1) + 1)
    }
}

/// Two batches and three channels, with windows along the last dimensions; the columns have the tensor's rank.
fn corner(name: &'static str, rank: usize, columns: Columns, last: &[Along]) -> Corner {
    of_sizes(name, rank, columns, [2, 3], last)
}

fn of_sizes(
    name: &'static str,
    rank: usize,
    columns: Columns,
    outer: [u32; 2],
    last: &[Along],
) -> Corner {
    // The minimal operator is requested for every rank.
    let mut along = vec![ONE; rank.saturating_sub(2)];
    let count = last.len().min(along.len());
    let from = along.len() - count;
    along[from..].copy_from_slice(&last[last.len() - count..]);
    let tensor: Vec<u32> = outer.into_iter().chain(along.iter().map(|it| it.size)).collect();
    let elements = along.iter().map(|it| it.window.max(1)).product::<u32>();
    let windows = along.iter().map(Along::windows).product();
    let columns_of = [outer[0], outer[1] * elements, windows];
    let before = vec![1; rank.saturating_sub(3)];
    let of_columns = [&before[..], &columns_of[3 - rank.min(3)..]].concat();
    let tensor = &tensor[..rank];
    let array = |of: fn(&Along) -> u32| FieldValue::UintArray(along.iter().map(of).collect());
    let attributes = [
        array(|it| it.window),
        array(|it| it.step),
        array(|it| it.dilation),
        array(|it| it.padding[0]),
        array(|it| it.padding[1]),
    ];
    match columns {
        Columns::Made => Corner::new(name, tensor, &of_columns, attributes),
        Columns::Read => Corner::new(name, &of_columns, tensor, attributes),
    }
}

impl Corner {
    /// With columns of rank three.
    fn of_three_dimensions(mut self, columns: Columns) -> Self {
        let sizes = if columns == Columns::Made { &mut self.output } else { &mut self.input };
        sizes.drain(..sizes.len().saturating_sub(3));
        self
    }
}

fn all(rank: usize, columns: Columns) -> Vec<Corner> {
    let of = |name, last: &[Along]| corner(name, rank, columns, last);
    let pair = Along { size: 2, window: 2, padding: [1, 0], ..ONE };
    let mut corners = vec![
        of("overlapping", &[USUAL, Along { size: 7, padding: [2, 1], ..USUAL }]),
        of("side_by_side", &[Along { size: 6, window: 3, step: 3, ..ONE }; 2]),
        of("apart", &[Along { size: 7, window: 2, step: 3, ..ONE }; 2]),
        of("rest_at_the_end", &[Along { size: 8, step: 3, padding: [0, 1], ..USUAL }]),
        of("dilated", &[Along { size: 9, dilation: 2, padding: [2, 3], ..USUAL }, USUAL]),
        of(
            "dilated_with_steps",
            &[Along { size: 13, window: 4, step: 4, dilation: 6, padding: [9; 2] }],
        ),
        of(
            "dilated_with_other_steps",
            &[Along { size: 13, window: 4, step: 3, dilation: 5, padding: [7; 2] }],
        ),
        of("of_all", &[Along { size: 5, window: 5, ..ONE }, Along { size: 4, window: 4, ..ONE }]),
        of("around", &[Along { size: 2, window: 2, dilation: 5, padding: [3; 2], ..ONE }; 2]),
        of("in_the_padding", &[Along { size: 2, window: 2, step: 2, padding: [6, 4], ..ONE }]),
        of("everywhere", &[pair; 6]),
        of("of_three_dimensions", &[USUAL; 2]).of_three_dimensions(columns),
        of("many", &[Along { size: 16, ..USUAL }, Along { size: 13, window: 4, ..USUAL }]),
    ];
    // Elements too far apart for a small descriptor to cover at once.
    for (name, layouts) in [
        ("far_input", [Layout::Far, Layout::Packed]),
        ("far_output", [Layout::Packed, Layout::Far]),
    ] {
        let last = [Along { size: 2, window: 2, ..ONE }, Along { size: 4, ..USUAL }];
        corners.push(Corner { layouts, ..of(name, &last) });
    }
    corners.push(of_sizes("single_element", rank, columns, [1, 1], &[]));
    corners
}

fn broken(rank: usize, columns: Columns) -> Vec<(Corner, &'static str)> {
    let of = |name, first: Along| {
        let mut all = vec![USUAL; rank - 2];
        all[0] = first;
        corner(name, rank, columns, &all)
    };
    // The error names an array of one value without an index.
    let path = |one, first| if rank == 3 { one } else { first };
    let sized = |name, at: usize| {
        let mut corner = of(name, USUAL).of_three_dimensions(columns);
        let sizes = if columns == Columns::Made { &mut corner.output } else { &mut corner.input };
        sizes[at] += 1;
        corner
    };
    let sizes = match columns {
        Columns::Made => {
            ["OutputTensor.Sizes[0]", "OutputTensor.Sizes[1]", "OutputTensor.Sizes[2]"]
        }
        Columns::Read => ["InputTensor.Sizes[0]", "InputTensor.Sizes[1]", "InputTensor.Sizes[2]"],
    };
    vec![
        (other_count(of("", USUAL)), "DimensionCount"),
        (
            of("rule_window_of_0", Along { window: 0, ..USUAL }),
            path("WindowSizes", "WindowSizes[0]"),
        ),
        (of("rule_step_of_0", Along { step: 0, ..USUAL }), path("Strides", "Strides[0]")),
        (
            of("rule_dilation_of_0", Along { dilation: 0, ..USUAL }),
            path("Dilations", "Dilations[0]"),
        ),
        (of("rule_window_beyond_all", Along { window: 9, ..USUAL }), "WindowSizes[0]"),
        (
            of("rule_padded_size_beyond_32_bits", Along { padding: [1, u32::MAX], ..USUAL }),
            "EndPadding[0]",
        ),
        (sized("rule_other_batches", 0), sizes[0]),
        (sized("rule_other_rows", 1), sizes[1]),
        (sized("rule_more_windows_than_there_are", 2), sizes[2]),
    ]
}

fn drawn(random: &mut Random, rank: usize, columns: Columns) -> Corner {
    let mut left = 600;
    let mut outer = [1; 2];
    for size in &mut outer {
        *size = 1 + random.below(3);
        left /= *size;
    }
    let mut along = vec![ONE; rank.saturating_sub(2)];
    for it in along.iter_mut().rev() {
        it.size = 1 + random.below(left.clamp(1, 9));
        it.window = 1 + random.below(4.min(left.max(1)));
        it.step = 1 + random.below(4);
        it.dilation = 1 + random.below(3);
        // A window must fit.
        let spare = (it.window - 1) * it.dilation;
        it.padding = [random.below(3) + spare / 2, random.below(3) + spare.div_ceil(2)];
        left /= it.size.max(it.window);
    }
    of_sizes("random", rank, columns, outer, &along)
}
