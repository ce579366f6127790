//! The shapes of windows, and other attributes of pooling operators.

use crate::Sizes;

/// Input and windows in up to three dimensions, of which the last ones are used.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) input: Sizes,
    pub(crate) window: [u32; 3],
    pub(crate) step: [u32; 3],
    pub(crate) dilation: [u32; 3],
    pub(crate) start: [u32; 3],
    pub(crate) end: [u32; 3],
}

pub(crate) const ONE: Shape = Shape {
    input: [1; 8],
    window: [1; 3],
    step: [1; 3],
    dilation: [1; 3],
    start: [0; 3],
    end: [0; 3],
};

/// The shape of most cases: overlapping windows with padding.
pub(crate) const USUAL: Shape =
    Shape { input: [1, 1, 1, 2, 3, 3, 5, 6], window: [2, 3, 3], start: [1; 3], end: [1; 3], ..ONE };
/// Strides of the input of [`USUAL`] with gaps between neighbours, and with the first dimension innermost.
pub(super) const PADDED: Sizes = [0, 0, 0, 2000, 600, 190, 20, 3];
pub(super) const REVERSED: Sizes = [0, 0, 0, 1, 2, 6, 18, 90];

pub(crate) const SHAPES: [(&str, Shape); 12] = [
    ("one_element", ONE),
    ("usual", USUAL),
    ("apart", Shape { window: [1, 2, 2], step: [2, 2, 3], ..USUAL_INSIDE }),
    ("overlapping", Shape { window: [2, 3, 2], step: [1, 2, 1], ..USUAL_INSIDE }),
    ("in_rows", Shape { window: [1, 1, 5], start: [0, 0, 2], end: [0, 0, 2], ..USUAL_INSIDE }),
    ("in_columns", Shape { window: [1, 4, 1], step: [1, 1, 2], ..USUAL_INSIDE }),
    ("end_padding", Shape { window: [2, 2, 4], step: [2, 2, 4], end: [1, 1, 2], ..USUAL_INSIDE }),
    ("of_all", Shape { window: [3, 5, 6], ..USUAL_INSIDE }),
    ("outside", Shape { window: [1, 2, 2], start: [1, 3, 2], end: [1, 0, 4], ..USUAL_INSIDE }),
    (
        "large_of_all",
        Shape { input: [1, 1, 1, 2, 1, 1, 100, 101], window: [1, 100, 101], ..USUAL_INSIDE },
    ),
    (
        "large",
        Shape {
            input: [1, 1, 1, 1, 2, 1, 95, 93],
            window: [1, 95, 94],
            start: [0, 1, 1],
            ..USUAL_INSIDE
        },
    ),
    (
        "many",
        Shape {
            input: [1, 1, 1, 2, 3, 1, 7, 19],
            window: [1, 2, 3],
            end: [0, 1, 0],
            ..USUAL_INSIDE
        },
    ),
];

pub(super) const USUAL_INSIDE: Shape = Shape { start: [0; 3], end: [0; 3], ..USUAL };

/// Attributes that do not concern windows.
#[derive(Clone, Copy)]
pub(super) struct Others {
    pub(super) include_padding: bool,
    pub(super) degree: u32,
    pub(super) cross_channel: bool,
    pub(super) local_size: u32,
    /// Alpha, beta and bias.
    pub(super) factors: [f32; 3],
    pub(super) by_channel: bool,
    pub(super) zero_points: bool,
    pub(super) indices: bool,
}

pub(super) const OTHERS: Others = Others {
    include_padding: true,
    degree: 2,
    cross_channel: true,
    local_size: 3,
    factors: [0.5, 0.75, 1.0],
    by_channel: true,
    zero_points: true,
    indices: true,
};
