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

/// A dimension: its sizes and where its elements are from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    pub(super) input: u64,
    pub(super) output: u64,
    /// The output's size by the input's, before coordinates change it.
    pub(super) ratio: f64,
    pub(super) scale: f64,
    pub(super) input_offset: f64,
    pub(super) output_offset: f64,
}

impl Coordinates {
    /// A dimension of these sizes, of input and output; `None` where no region has them.
    pub(super) fn axis(
        self,
        [input, output]: [u64; 2],
        scale: f64,
        [start, end]: [f64; 2],
    ) -> Option<Axis> {
        let last = input.saturating_sub(1) as f64;
        // What a scale makes of the size is cut off, but not here.
        let exact = input as f64 * scale;
        let ratio = scale;
        let axis = |scale: f64, input_offset: f64, output_offset: f64| {
            let is_usable = scale > 0.0 && scale.is_finite();
            is_usable.then_some(Axis { input, output, ratio, scale, input_offset, output_offset })
        };
        match self {
            Self::HalfPixelOfMany if output == 1 => axis(scale, 0.0, 0.0),
            Self::HalfPixel | Self::HalfPixelOfMany => axis(scale, 0.5, -0.5),
            Self::HalfPixelSymmetric => {
                let moved = input as f64 / 2.0 * (1.0 - output as f64 / exact);
                axis(scale, 0.5 - moved, -0.5)
            }
            Self::HalfPixelOfOutput => axis(scale, 0.0, -0.5),
            // The only element is the first one.
            Self::AlignCorners if input == 1 || output == 1 => axis(1.0, 0.0, 0.0),
            Self::AlignCorners => axis((exact - 1.0) / last, 0.0, 0.0),
            Self::Asymmetric => axis(scale, 0.0, 0.0),
            Self::Crop if output == 1 || input == 1 => axis(1.0, -(start + end) / 2.0 * last, 0.0),
            Self::Crop => axis((exact - 1.0) / ((end - start) * last), -start * last, 0.0),
        }
    }
}

impl Axis {
    /// One that stays as it is.
    pub(super) fn same(size: u64) -> Self {
        let (ratio, scale, input_offset, output_offset) = (1.0, 1.0, 0.0, 0.0);
        Self { input: size, output: size, ratio, scale, input_offset, output_offset }
    }

    pub(super) fn is_same(&self) -> bool {
        let moved = self.output_offset / self.scale + self.input_offset;
        self.input == self.output && self.scale == 1.0 && moved == 0.0
    }

    /// Where the element at `x` is from.
    fn source(&self, x: u64) -> f64 {
        (x as f64 - self.output_offset) / self.scale - self.input_offset
    }

    /// Where every element is from.
    pub(super) fn sources(&self, operands: &Operands<'_>) -> Result<Sources> {
        operands.budget.take(&[self.output])?;
        let coordinates = (0..self.output).map(|x| self.source(x)).collect();
        Ok(Sources { input: self.input, coordinates, scale: self.ratio })
    }

    /// The part of it that is made of elements of the input, and how many are before and after it.
    pub(super) fn inside(&self) -> (Self, [u64; 2]) {
        let last = match self.input {
            // Whatever the region is, the only element is in it.
            1 => f64::INFINITY,
            input => input.saturating_sub(1) as f64,
        };
        // A size that cannot be written is refused later.
        let all = self.output.min(u64::from(u32::MAX));
        let before = partition(all, |x| self.source(x) < 0.0);
        let end = partition(all, |x| self.source(x) <= last).max(before);
        let output_offset = self.output_offset - before as f64;
        (Self { output: end - before, output_offset, ..*self }, [before, self.output - end])
    }
}

/// How many numbers from 0 on, of `count`, have what none has after one that has it not.
fn partition(count: u64, has: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if has(middle) { low = middle + 1 } else { high = middle }
    }
    low
}
