//! A resized dimension: the input coordinates of the output's elements.

use crate::error::Result;
use crate::graph::ops::NodeInputs;
use crate::graph::ops::weigh::Sources;

/// `coordinate_transformation_mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coordinates {
    HalfPixel,
    HalfPixelSymmetric,
    /// Half-pixel coordinates, except for a dimension of one element (`pytorch_half_pixel`).
    HalfPixelOfMany,
    /// Half-pixel coordinates of the output only (`tf_half_pixel_for_nn`).
    HalfPixelOfOutput,
    AlignCorners,
    Asymmetric,
    /// A region of the input (`tf_crop_and_resize`).
    Crop,
}

/// How a coordinate is rounded to an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nearest {
    Floor,
    Ceiling,
    /// The nearest element; a tie goes to the lower or to the higher one.
    Round {
        prefers_floor: bool,
    },
    /// The lower element if the dimension is enlarged, otherwise the higher one.
    BySize,
}

/// An exact fraction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ratio {
    pub(super) numerator: f64,
    pub(super) denominator: f64,
}

impl Ratio {
    pub(super) fn is_less_than(self, other: Self) -> bool {
        self.numerator * other.denominator < other.numerator * self.denominator
    }

    /// The product with an integer, rounded to the nearest integer, ties up.
    pub(super) fn nearest_product(self, integer: f64) -> f64 {
        let twice = 2.0 * integer * self.numerator + self.denominator;
        (twice / (2.0 * self.denominator)).floor()
    }
}

/// The sizes of a dimension in the input and in the output.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) input: u64,
    pub(super) output: u64,
    /// The output's size before truncation to an integer.
    pub(super) length: f64,
    /// The output's size divided by the input's.
    pub(super) scale: Ratio,
}

/// A resized dimension. The output's element `x` has input coordinate `(start + step * x) / divisor`.
/// Numerators are exact while the product of both sizes is below 2^51, so a coordinate is rounded once, and
/// never across an integer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) scale: f64,
    start: f64,
    step: f64,
    divisor: f64,
}

/// Coordinates as RESAMPLE computes them, `x / scale - offset`, with every step in single precision.
#[derive(Clone, Copy, Debug)]
pub(super) struct SinglePrecision {
    pub(super) scale: f32,
    pub(super) offset: f32,
}

impl Coordinates {
    /// The dimension for these sizes; for [`Self::Crop`] also with this region of the input.
    pub(super) fn axis(self, sizes: Sizes, [from, to]: [f64; 2]) -> Axis {
        let Sizes { input, output, length, scale } = sizes;
        let (size, last) = (input as f64, input.saturating_sub(1) as f64);
        let Ratio { numerator, denominator } = scale;
        let (twice, divisor) = (2.0 * denominator, 2.0 * numerator);
        let [start, step, divisor] = match self {
            Self::HalfPixelOfMany | Self::AlignCorners if output == 1 => [0.0, 0.0, 1.0],
            Self::HalfPixel | Self::HalfPixelOfMany => [denominator - numerator, twice, divisor],
            Self::HalfPixelSymmetric => {
                let centered = size * numerator - output as f64 * denominator;
                [centered + (denominator - numerator), twice, divisor]
            }
            Self::HalfPixelOfOutput => [denominator, twice, divisor],
            Self::AlignCorners => [0.0, last, length - 1.0],
            Self::Asymmetric => [0.0, denominator, numerator],
            Self::Crop if output == 1 => [(from + to) * last, 0.0, 2.0],
            Self::Crop => [from * last * (length - 1.0), (to - from) * last, length - 1.0],
        };
        Axis { input, output, scale: numerator / denominator, start, step, divisor }
    }
}

impl Axis {
    /// A dimension that is not resized.
    pub(super) fn same(size: u64) -> Self {
        let (scale, start, step, divisor) = (1.0, 0.0, 1.0, 1.0);
        Self { input: size, output: size, scale, start, step, divisor }
    }

    pub(super) fn is_same(&self) -> bool {
        let is_moved = self.start != 0.0 || self.step != self.divisor;
        self.input == self.output && (self.input == 1 || !is_moved)
    }

    fn last(&self) -> f64 {
        self.input.saturating_sub(1) as f64
    }

    fn numerator(&self, x: u64) -> f64 {
        self.start + self.step * x as f64
    }

    /// The input coordinate of the output's element `x`.
    fn source(&self, x: u64) -> f64 {
        self.numerator(x) / self.divisor
    }

    /// The input coordinates of all output elements.
    pub(super) fn sources(&self, operands: &NodeInputs<'_>) -> Result<Sources> {
        operands.budget.take(&[self.output])?;
        let coordinates = (0..self.output).map(|x| self.source(x)).collect();
        Ok(Sources { input: self.input, coordinates, scale: self.scale })
    }

    /// The index of the input's element that is nearest to the output's element `x`.
    pub(super) fn nearest(&self, x: u64, rounding: Nearest) -> f64 {
        let half = self.divisor / 2.0;
        let index = match (rounding, self.rounds_up(rounding)) {
            (Nearest::Round { .. }, true) => ((self.numerator(x) - half) / self.divisor).ceil(),
            (Nearest::Round { .. }, false) => ((self.numerator(x) + half) / self.divisor).floor(),
            (_, true) => self.source(x).ceil(),
            (_, false) => self.source(x).floor(),
        };
        index.clamp(0.0, self.last())
    }

    /// Whether coordinates are rounded up, after subtracting half an element if the nearest one is wanted.
    pub(super) fn rounds_up(&self, rounding: Nearest) -> bool {
        match rounding {
            Nearest::Floor => false,
            Nearest::Ceiling => true,
            Nearest::Round { prefers_floor } => prefers_floor,
            Nearest::BySize => self.scale < 1.0,
        }
    }

    /// The coordinates in single precision, plus `shift`; `None` if RESAMPLE cannot express the scale.
    pub(super) fn single_precision(&self, shift: f64) -> Option<SinglePrecision> {
        if self.input == 1 || self.is_same() {
            return Some(SinglePrecision { scale: 1.0, offset: 0.0 });
        }
        let scale = single(self.divisor / self.step);
        let offset = single(-self.start / self.divisor - shift);
        let is_usable = scale > 0.0 && scale.is_finite() && offset.is_finite();
        is_usable.then_some(SinglePrecision { scale, offset })
    }

    /// The part of the output that is inside of the input, and how many output elements are before and after
    /// it.
    pub(super) fn inside(&self, operands: &NodeInputs<'_>) -> Result<(Self, [u64; 2])> {
        operands.budget.take(&[self.output])?;
        let is_inside = |x: &u64| (0.0..=self.last()).contains(&self.source(*x));
        let before = (0..self.output).find(is_inside).unwrap_or(self.output);
        let end = (before..self.output).rfind(is_inside).map_or(before, |last| last + 1);
        let part = Self { output: end - before, start: self.numerator(before), ..*self };
        Ok((part, [before, self.output - end]))
    }
}

impl SinglePrecision {
    pub(super) fn coordinate(self, x: u64) -> f32 {
        x as f32 / self.scale - self.offset
    }
}

#[expect(clippy::cast_possible_truncation, reason = "rounded, as DirectML has it")]
pub(super) fn single(number: f64) -> f32 {
    number as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUNDINGS: [Nearest; 4] = [
        Nearest::Floor,
        Nearest::Ceiling,
        Nearest::Round { prefers_floor: true },
        Nearest::Round { prefers_floor: false },
    ];

    /// ONNX's formula for a scale of `output / input`, as numerator and denominator.
    fn formula(mode: Coordinates, x: i128, input: i128, output: i128) -> [i128; 2] {
        let half_pixel = [(2 * x + 1) * input - output, 2 * output];
        match mode {
            Coordinates::HalfPixel | Coordinates::HalfPixelSymmetric => half_pixel,
            Coordinates::HalfPixelOfMany | Coordinates::AlignCorners if output == 1 => [0, 1],
            Coordinates::HalfPixelOfMany => half_pixel,
            Coordinates::HalfPixelOfOutput => [(2 * x + 1) * input, 2 * output],
            Coordinates::Asymmetric => [x * input, output],
            // A region that covers the whole input is like aligned corners.
            Coordinates::Crop if output == 1 => [input - 1, 2],
            Coordinates::AlignCorners | Coordinates::Crop => [x * (input - 1), output - 1],
        }
    }

    fn rounded([numerator, denominator]: [i128; 2], rounding: Nearest) -> i128 {
        let twice = 2 * denominator;
        match rounding {
            Nearest::Floor | Nearest::BySize => numerator.div_euclid(denominator),
            Nearest::Ceiling => -(-numerator).div_euclid(denominator),
            Nearest::Round { prefers_floor: true } => {
                -(denominator - 2 * numerator).div_euclid(twice)
            }
            Nearest::Round { prefers_floor: false } => {
                (2 * numerator + denominator).div_euclid(twice)
            }
        }
    }

    #[test]
    fn elements_are_those_of_exact_fractions() {
        for mode in [
            Coordinates::HalfPixel,
            Coordinates::HalfPixelSymmetric,
            Coordinates::HalfPixelOfMany,
            Coordinates::HalfPixelOfOutput,
            Coordinates::AlignCorners,
            Coordinates::Asymmetric,
            Coordinates::Crop,
        ] {
            for (input, output) in (1..=64_u64).flat_map(|it| (1..=64_u64).map(move |to| (it, to)))
            {
                let scale = Ratio { numerator: output as f64, denominator: input as f64 };
                let sizes = Sizes { input, output, length: output as f64, scale };
                let axis = mode.axis(sizes, [0.0, 1.0]);
                let last = i128::from(input) - 1;
                for (x, rounding) in (0..output).flat_map(|x| ROUNDINGS.map(|it| (x, it))) {
                    let exact = formula(mode, x.into(), input.into(), output.into());
                    let expected = rounded(exact, rounding).clamp(0, last) as f64;
                    let found = axis.nearest(x, rounding);
                    assert_eq!(
                        found, expected,
                        "{mode:?}, {rounding:?}: {x} of {input} to {output}"
                    );
                }
            }
        }
    }
}
