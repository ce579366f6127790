//! A dimension that is resized: where the elements of the output are in the input.

use crate::error::Result;
use crate::graph::ops::Operands;
use crate::graph::ops::weigh::Sources;

/// `coordinate_transformation_mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coordinates {
    HalfPixel,
    HalfPixelSymmetric,
    /// Half a pixel, but for a dimension of one element.
    HalfPixelOfMany,
    /// Half a pixel of the output alone.
    HalfPixelOfOutput,
    AlignCorners,
    Asymmetric,
    /// A region of the input.
    Crop,
}

/// How a coordinate becomes an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nearest {
    Floor,
    Ceiling,
    /// The nearest, of two the lower or the higher one.
    Round {
        prefers_floor: bool,
    },
    /// The lower one where the dimension grows, else the higher one.
    BySize,
}

/// A number as a fraction, which is not rounded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ratio {
    pub(super) numerator: f64,
    pub(super) denominator: f64,
}

impl Ratio {
    pub(super) fn is_less_than(self, other: Self) -> bool {
        self.numerator * other.denominator < other.numerator * self.denominator
    }

    /// The integer that is nearest to its product with an integer, of two the greater one.
    pub(super) fn nearest_product(self, integer: f64) -> f64 {
        let twice = 2.0 * integer * self.numerator + self.denominator;
        (twice / (2.0 * self.denominator)).floor()
    }
}

/// The sizes of a dimension of the input and of the output.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) input: u64,
    pub(super) output: u64,
    /// The output's size before its fraction was cut off.
    pub(super) length: f64,
    /// The output's size by the input's.
    pub(super) scale: Ratio,
}

/// A dimension: its sizes, and where its elements are from. The coordinate of the element at `x` is
/// `(start + step * x) / divisor`. Numerators are exact while the product of both sizes is below 2^51, so a coordinate
/// is rounded once, and never across an integer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) scale: f64,
    start: f64,
    step: f64,
    divisor: f64,
}

/// A coordinate as RESAMPLE computes it: `x / scale - offset`, every step in single precision.
#[derive(Clone, Copy, Debug)]
pub(super) struct SinglePrecision {
    pub(super) scale: f32,
    pub(super) offset: f32,
}

impl Coordinates {
    /// A dimension of these sizes, and for [`Self::Crop`] with this region of the input.
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
    /// One that stays as it is.
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

    /// Where the element at `x` is from.
    fn source(&self, x: u64) -> f64 {
        self.numerator(x) / self.divisor
    }

    /// Where every element is from.
    pub(super) fn sources(&self, operands: &Operands<'_>) -> Result<Sources> {
        operands.budget.take(&[self.output])?;
        let coordinates = (0..self.output).map(|x| self.source(x)).collect();
        Ok(Sources { input: self.input, coordinates, scale: self.scale })
    }

    /// The element of the input that the one at `x` is.
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

    /// Whether coordinates are rounded up, after half of an element was subtracted where the nearest one is meant.
    pub(super) fn rounds_up(&self, rounding: Nearest) -> bool {
        match rounding {
            Nearest::Floor => false,
            Nearest::Ceiling => true,
            Nearest::Round { prefers_floor } => prefers_floor,
            Nearest::BySize => self.scale < 1.0,
        }
    }

    /// The coordinates in single precision, with `shift` added; `None` where RESAMPLE has no such scale.
    pub(super) fn single_precision(&self, shift: f64) -> Option<SinglePrecision> {
        if self.input == 1 || self.is_same() {
            return Some(SinglePrecision { scale: 1.0, offset: 0.0 });
        }
        let scale = single(self.divisor / self.step);
        let offset = single(-self.start / self.divisor - shift);
        let is_usable = scale > 0.0 && scale.is_finite() && offset.is_finite();
        is_usable.then_some(SinglePrecision { scale, offset })
    }

    /// The part of it that is made of elements of the input, and how many are before and after it.
    pub(super) fn inside(&self, operands: &Operands<'_>) -> Result<(Self, [u64; 2])> {
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
            // A region of all of the input has the corners aligned.
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
