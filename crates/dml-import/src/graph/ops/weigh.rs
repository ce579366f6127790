//! Resizing by weighted sums of more than two neighbours: cubic and antialiased interpolation.
//!
//! Along each dimension, every element of the output is a weighted sum of input elements: the product of a
//! matrix of weights, made on the host, and the input, by GEMM.

use crate::element::ElementType;
use crate::error::Result;
use crate::graph::ops::NodeInputs;
use crate::graph::ops::cast::cast;
use crate::graph::ops::packed::around;
use crate::graph::ops::product::multiplied;
use crate::graph::value::Value;
use crate::tensor::Tensor;

/// The weight of an element as a function of its distance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Filter {
    /// Linear: from 1 at distance 0 to 0 at distance 1.
    Triangle,
    /// Cubic convolution, up to distance 2 (Keys, 1981), with this free coefficient.
    Cubic(f64),
}

/// How weights are computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Weighing {
    pub(crate) filter: Filter,
    /// Whether the filter is widened as the output shrinks (antialiasing).
    pub(crate) is_smoothed: bool,
    /// Whether elements outside of the input have no weight, and the others are normalized. Otherwise the first
    /// and the last element continue without end.
    pub(crate) excludes_outside: bool,
}

/// The input coordinates along a resized dimension.
#[derive(Clone, Debug)]
pub(crate) struct Sources {
    /// The input's size.
    pub(crate) input: u64,
    /// The input coordinate of each output element.
    pub(crate) coordinates: Vec<f64>,
    /// The output's size divided by the input's.
    pub(crate) scale: f64,
}

impl Filter {
    /// The weight at a distance, which is not negative.
    fn at(self, x: f64) -> f64 {
        match self {
            Self::Triangle => (1.0 - x).max(0.0),
            Self::Cubic(a) if x <= 1.0 => ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0,
            Self::Cubic(a) if x < 2.0 => ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a,
            Self::Cubic(_) => 0.0,
        }
    }

    fn reach(self) -> f64 {
        match self {
            Self::Triangle => 1.0,
            Self::Cubic(_) => 2.0,
        }
    }
}

impl Weighing {
    /// The weights of all input elements for coordinate `x`; they add up to 1.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is clamped to the elements of the input"
    )]
    fn row(&self, sources: &Sources, x: f64) -> Vec<f64> {
        let mut row = vec![0.0; usize::try_from(sources.input).unwrap_or(0)];
        let width = if self.is_smoothed { sources.scale.min(1.0) } else { 1.0 };
        let (reach, last) = (self.filter.reach() / width, sources.input.saturating_sub(1) as f64);
        // Coordinates further outside have the same weights, since all elements there are equal.
        let x = x.clamp(-reach - 1.0, last + reach + 1.0);
        let mut at = (x - reach).ceil();
        while at <= x + reach {
            if !self.excludes_outside || (0.0..=last).contains(&at) {
                row[at.clamp(0.0, last) as usize] += self.filter.at((at - x).abs() * width);
            }
            at += 1.0;
        }
        let sum: f64 = row.iter().sum();
        if sum != 0.0 {
            row.iter_mut().for_each(|weight| *weight /= sum);
        }
        row
    }

    /// The input interpolated along one dimension.
    ///
    /// # Errors
    /// The elements are not floats, or the weights exceed the limit of the host.
    pub(super) fn along(
        &self,
        operands: &NodeInputs<'_>,
        data: &Value,
        axis: usize,
        sources: &Sources,
    ) -> Result<Value> {
        let (element, shape) = (data.element()?, data.shape()?.to_vec());
        operands.type_is(element, &[ElementType::FLOAT32, ElementType::FLOAT16], "X")?;
        let [outer, input, inner] = around(&shape, axis);
        let output = sources.coordinates.len() as u64;
        let data = cast(operands, data, ElementType::FLOAT32)?;
        let weights = self.weights(operands, sources)?;
        // For the innermost dimension, the weights are the right factor.
        let product = match inner {
            1 => {
                let data = operands.reshaped(&data, &[outer, input])?;
                multiplied(operands, &data, &weights.transposed(&[1, 0]))?
            }
            _ => {
                let data = operands.reshaped(&data, &[outer, input, inner])?;
                multiplied(operands, &weights, &data)?
            }
        };
        let resized = [&shape[..axis], &[output], &shape[axis + 1..]].concat();
        cast(operands, &operands.reshaped(&product, &resized)?, element)
    }

    /// The matrix of weights, with one row for each output element.
    fn weights(&self, operands: &NodeInputs<'_>, sources: &Sources) -> Result<Value> {
        let shape = vec![sources.coordinates.len() as u64, sources.input];
        operands.budget.take(&shape)?;
        let rows = sources.coordinates.iter().flat_map(|x| self.row(sources, *x));
        #[expect(clippy::cast_possible_truncation, reason = "rounded, as the product has them")]
        let bytes: Vec<u8> = rows.flat_map(|row| (row as f32).to_le_bytes()).collect();
        Ok(Value::host(Tensor::new(ElementType::FLOAT32, shape, bytes)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(filter: Filter, is_smoothed: bool, scale: f64, x: f64) -> Vec<f64> {
        let sources = Sources { input: 4, coordinates: vec![x], scale };
        Weighing { filter, is_smoothed, excludes_outside: false }.row(&sources, x)
    }

    /// The coefficients of the ONNX reference for a coordinate of 1.5 and `A` of -0.75.
    #[test]
    fn a_cubic_row_has_the_weights_of_keys() {
        let middle = row(Filter::Cubic(-0.75), false, 2.0, 1.5);
        assert_eq!(middle, [-0.09375, 0.59375, 0.59375, -0.09375]);
        assert_eq!(row(Filter::Cubic(-0.75), false, 2.0, 2.0), [0.0, 0.0, 1.0, 0.0]);
    }

    #[test]
    fn the_first_element_goes_on_outside() {
        let before = row(Filter::Triangle, false, 1.0, -0.25);
        assert_eq!(before, [1.0, 0.0, 0.0, 0.0]);
        let wide = row(Filter::Triangle, true, 0.5, 0.5);
        assert_eq!(wide, [0.5, 0.375, 0.125, 0.0]);
        let far = row(Filter::Cubic(-0.5), false, 1.0, 1.0e30);
        assert_eq!(far, [0.0, 0.0, 0.0, 1.0]);
    }
}
