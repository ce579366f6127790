//! How LOCAL_RESPONSE_NORMALIZATION is executed: the sums of squares of all windows, and then the elements.

use dml_core::{Error, Validated};
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::DIMENSIONS;
use dml_spirv::functions as f;
use dml_spirv::reduce::SUM_F32;

use super::along::Along;
use super::lowering::Pooling;
use super::space::{Element, Making};
use crate::Target;
use crate::ir::{self, PARTS_OF_SUMS};
use crate::lowering::conversion::{narrowed, widened};
use crate::lowering::map_builder::MapBuilder;

/// `x / (bias + alpha / size * sum of squares)^beta`
pub(super) fn normalization(
    operator: &Validated,
    target: &Target<'_>,
) -> Result<ir::Program, Error> {
    let mut pooling = Pooling::new(operator, target, along(operator)?)?;
    let data_type = pooling.data_type;
    let element = |map: &mut MapBuilder, it: Element| {
        let value = map.apply_all(widened(data_type), it.value);
        map.apply(&f::MULTIPLY_F32, &[value, value], &[])
    };
    let making =
        Making { element: &element, in_parts: PARTS_OF_SUMS, reducer: &SUM_F32, last: &|_, _| () };
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

/// The channels, or height and width, with a window around each element: of what lies outside, which adds
/// nothing, no more than any element meets, however large the window is.
fn along(operator: &Validated) -> Result<Vec<Along>, Error> {
    const CHANNELS: usize = 1;
    let input = operator.required_tensor("InputTensor")?;
    let (rank, others) = (input.sizes().len(), operator.uint("LocalSize")? - 1);
    let of = |at: usize| {
        let size = input.sizes()[at];
        let [before, after] = [others / 2, others - others / 2].map(|it| it.min(size - 1));
        Along {
            at: DIMENSIONS - rank + at,
            size,
            stride: input.strides()[at],
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
