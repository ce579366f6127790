//! Resizing by sums over more than two neighbours: cubic interpolation, and what is smoothed where it gets smaller.
//!
//! Along each dimension every element of the output is a weighted sum of elements of the input, so a matrix of
//! weights, made on the host, times the input: GEMM.

use crate::element::ElementType;
use crate::error::Result;
use crate::graph::ops::Operands;
use crate::graph::ops::cast::cast;
use crate::graph::ops::packed::around;
use crate::graph::ops::product::multiplied;
use crate::graph::value::Value;
use crate::tensor::Tensor;

/// What an element at a distance counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Filter {
    /// A line from 1 to 0 in a distance of 1.
    Triangle,
    /// Two cubic polynomials that end in a distance of 2 (Keys, 1981), of which this is the free coefficient.
    Cubic(f64),
}

/// How weights are made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Weighing {
    pub(crate) filter: Filter,
    /// Whether filters get as much wider as the output gets smaller.
    pub(crate) is_smoothed: bool,
    /// Whether what is outside of the input has no weight, and what is inside all of it. Else the first and the
    /// last element go on for ever.
    pub(crate) excludes_outside: bool,
}

/// A dimension: where the elements of the output are in the input.
#[derive(Clone, Debug)]
pub(crate) struct Sources {
    /// How many elements the input has.
    pub(crate) input: u64,
    /// A coordinate for each element of the output.
    pub(crate) coordinates: Vec<f64>,
    /// The output's size by the input's.
    pub(crate) scale: f64,
}

impl Filter {
    /// The weight at a distance that is not below 0.
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
    /// What each element of the input counts for the one at `x`: all together 1.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is clamped to the elements of the input"
    )]
    fn row(&self, sources: &Sources, x: f64) -> Vec<f64> {
        let mut row = vec![0.0; usize::try_from(sources.input).unwrap_or(0)];
        let width = if self.is_smoothed { sources.scale.min(1.0) } else { 1.0 };
        let (reach, last) = (self.filter.reach() / width, sources.input.saturating_sub(1) as f64);
        // What lies further outside counts like the first or the last element, which all are alike.
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

    /// The input with its elements along one dimension weighed.
    ///
    /// # Errors
    /// The elements are no floats, or the weights are more than the host may hold.
    pub(super) fn along(
        &self,
        operands: &Operands<'_>,
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
        // The innermost dimension is a product from the right.
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

    /// A row for each element of the output.
    fn weights(&self, operands: &Operands<'_>, sources: &Sources) -> Result<Value> {
        let shape = vec![sources.coordinates.len() as u64, sources.input];
        operands.budget.take(&shape)?;
        let rows = sources.coordinates.iter().flat_map(|x| self.row(sources, *x));
        #[expect(clippy::cast_possible_truncation, reason = "rounded, as the product has them")]
        let bytes: Vec<u8> = rows.flat_map(|it| (it as f32).to_le_bytes()).collect();
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

    /// The coefficients that the ONNX reference has for a coordinate of 1.5 and `A` of -0.75.
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
