//! Lowers LOCAL_RESPONSE_NORMALIZATION and its gradient: the sums of squares of all windows, and then the
//! elements; the gradient also sums, in between, the contributions of each element to the elements of its
//! window.

use dml_core::{Error, Validated};
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::{DIMENSIONS, Value};
use dml_spirv::functions as f;
use dml_spirv::reduce::SUM_F32;

use super::along::Along;
use super::lowering::Pooling;
use super::space::{Element, Making, Windows};
use crate::Target;
use crate::ir::space::{Operand, leading};
use crate::ir::{self, Recorder};
use crate::lowering::conversion::{narrowed, widened};
use crate::lowering::map_builder::MapBuilder;
use crate::lowering::operands::required;

/// Lowers LOCAL_RESPONSE_NORMALIZATION: `x / (bias + alpha / size * sum of squares)^beta`
pub(super) fn normalization(
    operator: &Validated,
    target: &Target<'_>,
) -> Result<ir::Program, Error> {
    let along = along(operator, None)?;
    let mut pooling = Pooling::new(operator, target, along)?;
    let data_type = pooling.data_type;
    let element = |map: &mut MapBuilder, it: Element| {
        let value = map.apply_all(widened(data_type), it.value);
        map.apply(&f::MULTIPLY_F32, &[value, value], &[])
    };
    let making = Making { element: &element, reducer: &SUM_F32, last: &|_, _| () };
    let sums = pooling.temporary(ElementWidth::B32);
    pooling.windows.reduce(&mut pooling.recorder, &making, &[], &sums)?;
    let mut map = MapBuilder::default();
    let value = map.input(pooling.windows.input.clone());
    let sum = map.input(sums);
    let factor = operator.float("Alpha")? / operator.uint("LocalSize")? as f32;
    let parameters = [factor, operator.float("Bias")?].map(f32::to_bits);
    let base = map.apply(&f::SCALE_BIAS_F32, &[sum], &parameters);
    let beta = operator.float("Beta")?.to_bits();
    let divisor = map.apply(&f::CONSTANT_POW_F32, &[base], &[beta]);
    let value = map.apply_all(widened(data_type), value);
    let quotient = map.apply(&f::DIVIDE_F32, &[value, divisor], &[]);
    map.apply_all(narrowed(data_type), quotient);
    let output = pooling.first_output()?;
    map.record(&mut pooling.recorder, pooling.windows.sizes, output)?;
    Ok(pooling.recorder.finish())
}

/// Lowers the gradient: with `s = bias + alpha / size * sum of squares` it is `gradient / s^beta`, less `2 *
/// alpha * beta / size * x` times the sum of `gradient * x / (s^beta * s)` over all elements whose windows
/// contain the element.
pub(super) fn gradient(operator: &Validated, target: &Target<'_>) -> Result<ir::Program, Error> {
    let mut recorder = Recorder::new(operator, target);
    let [input, gradient] = required(operator, recorder.inputs()?)?;
    let [output] = required(operator, recorder.outputs()?)?;
    let tensor = operator.required_tensor("InputTensor")?;
    let (data_type, sizes) = (tensor.data_type(), leading(tensor.sizes(), 1));
    let factors = Factors::of(operator)?;
    let mut temporary = || recorder.packed_temporary(ElementWidth::B32, &sizes);
    let [squares, shares, sums] = [temporary(), temporary(), temporary()];

    let element = |map: &mut MapBuilder, it: Element| {
        let value = map.apply_all(widened(data_type), it.value);
        map.apply(&f::MULTIPLY_F32, &[value, value], &[])
    };
    let making = Making { element: &element, reducer: &SUM_F32, last: &|_, _| () };
    let windows = Windows::new(input.clone(), sizes, along(operator, None)?);
    windows.reduce(&mut recorder, &making, &[], &squares)?;

    let mut map = MapBuilder::default();
    let [x, dy] = [&input, &gradient].map(|it| map.input(it.clone()));
    let [x, dy] = [x, dy].map(|it| map.apply_all(widened(data_type), it));
    let sum = map.input(squares.clone());
    let [base, power] = factors.power(&mut map, sum);
    let product = map.apply(&f::MULTIPLY_F32, &[dy, x], &[]);
    let divisor = map.apply(&f::MULTIPLY_F32, &[power, base], &[]);
    map.apply(&f::DIVIDE_F32, &[product, divisor], &[]);
    map.record(&mut recorder, sizes, shares.clone())?;

    let element = |_: &mut MapBuilder, it: Element| it.value;
    // Adding 0 makes -0 positive.
    let positive = |map: &mut MapBuilder, sum: Value| {
        map.computation.scaled(sum, 1.0, 0.0);
    };
    let making = Making { element: &element, reducer: &SUM_F32, last: &positive };
    let mirrored = along(operator, Some(&shares))?;
    let windows = Windows::new(shares, sizes, mirrored);
    windows.reduce(&mut recorder, &making, &[], &sums)?;

    let mut map = MapBuilder::default();
    let [x, dy] = [input, gradient].map(|it| map.input(it));
    let [x, dy] = [x, dy].map(|it| map.apply_all(widened(data_type), it));
    let [squares, sums] = [squares, sums].map(|it| map.input(it));
    let [_, power] = factors.power(&mut map, squares);
    let own = map.apply(&f::DIVIDE_F32, &[dy, power], &[]);
    let factor = map.times(x, factors.of_neighbours);
    let of_neighbours = map.apply(&f::MULTIPLY_F32, &[factor, sums], &[]);
    let difference = map.apply(&f::SUBTRACT_F32, &[own, of_neighbours], &[]);
    map.apply_all(narrowed(data_type), difference);
    map.record(&mut recorder, sizes, output)?;
    Ok(recorder.finish())
}

/// The operator's attributes as factors.
struct Factors {
    /// The factor of a sum of squares, and the summand that is added next.
    scale: f32,
    bias: f32,
    exponent: f32,
    /// `2 * alpha * beta / size`
    of_neighbours: f32,
}

impl Factors {
    fn of(operator: &Validated) -> Result<Self, Error> {
        let size = operator.uint("LocalSize")?;
        let (alpha, beta) = (operator.float("Alpha")?, operator.float("Beta")?);
        #[expect(clippy::cast_possible_truncation, reason = "factors are in single precision")]
        let of_neighbours = (2.0 * f64::from(alpha) * f64::from(beta) / f64::from(size)) as f32;
        let (scale, bias) = (alpha / size as f32, operator.float("Bias")?);
        Ok(Self { scale, bias, exponent: beta, of_neighbours })
    }

    /// Adds the scaled sum of squares `s`, and `s^beta`.
    fn power(&self, map: &mut MapBuilder, sum: Value) -> [Value; 2] {
        let base = map.computation.scaled(sum, self.scale, self.bias);
        [base, map.apply(&f::CONSTANT_POW_F32, &[base], &[self.exponent.to_bits()])]
    }
}

/// The dimensions of windows: channels, or height and width, with a window around each element. A window is
/// cut to the size of the dimension, as elements outside of it add nothing. With `shares`, whose strides are
/// used, windows are mirrored: they cover the elements whose windows contain an element.
fn along(operator: &Validated, shares: Option<&Operand>) -> Result<Vec<Along>, Error> {
    const CHANNELS: usize = 1;
    let input = operator.required_tensor("InputTensor")?;
    let (rank, others) = (input.sizes().len(), operator.uint("LocalSize")? - 1);
    let of = |at: usize| {
        let size = input.sizes()[at];
        let [mut before, mut after] = [others / 2, others - others / 2].map(|it| it.min(size - 1));
        let mut stride = input.strides()[at];
        if let Some(shares) = shares {
            std::mem::swap(&mut before, &mut after);
            stride = u32::try_from(shares.strides[DIMENSIONS - rank + at]).unwrap_or(0);
        }
        Along {
            at: DIMENSIONS - rank + at,
            size,
            stride,
            windows: size,
            step: 1,
            window: before + 1 + after,
            dilation: 1,
            first: -i64::from(before),
            inner: 1,
        }
    };
    Ok(match operator.bool("CrossChannel")? {
        true => vec![of(CHANNELS)],
        false => (CHANNELS + 1..rank).map(of).collect(),
    })
}
