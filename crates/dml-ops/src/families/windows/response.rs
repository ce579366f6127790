//! How LOCAL_RESPONSE_NORMALIZATION is executed: the sums of squares of all windows, and then the elements.

use dml_core::plan::Plan;
use dml_core::{Error, Validated};
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::DIMENSIONS;
use dml_spirv::functions as f;
use dml_spirv::reduce::SUM_F32;

use super::along::Along;
use super::lowering::Pooling;
use super::space::{Element, Making};
use crate::Target;
use crate::lowering::conversion::{narrowed, widened};
use crate::lowering::made::Made;
use crate::lowering::reduce::SUMS;

/// `x / (bias + alpha / size * sum of squares)^beta`
pub(super) fn normalization(operator: &Validated, target: &Target<'_>) -> Result<Plan, Error> {
    let mut pooling = Pooling::new(operator, target, along(operator)?)?;
    let data_type = pooling.data_type;
    let element = |made: &mut Made, it: Element| {
        let value = made.apply_all(widened(data_type), it.value);
        made.apply(&f::MULTIPLY_F32, &[value, value], &[])
    };
    let making = Making { element: &element, in_parts: SUMS, reducer: &SUM_F32, last: &|_| () };
    let sums = pooling.temporary(ElementWidth::B32);
    pooling.windows.reduce(&mut pooling.kernels, &making, &[], &sums)?;
    let mut made = Made::default();
    let value = made.input(pooling.windows.input.clone());
    let sum = made.input(sums);
    let factor = operator.float("Alpha")? / operator.uint("LocalSize")? as f32;
    let parameters = [factor, operator.float("Bias")?].map(f32::to_bits);
    let base = made.apply(&f::SCALE_BIAS_F32, &[sum], &parameters);
    let beta = operator.float("Beta")?.to_bits();
    let divisor = made.apply(&f::CONSTANT_POW_F32, &[base], &[beta]);
    let value = made.apply_all(widened(data_type), value);
    let quotient = made.apply(&f::DIVIDE_F32, &[value, divisor], &[]);
    made.apply_all(narrowed(data_type), quotient);
    let output = pooling.first_output()?;
    made.compute(&mut pooling.kernels, pooling.windows.sizes, output)?;
    Ok(pooling.kernels.into_plan())
}

/// The channels, or height and width, with a window around each element.
fn along(operator: &Validated) -> Result<Vec<Along>, Error> {
    const CHANNELS: usize = 1;
    let input = operator.required_tensor("InputTensor")?;
    let (rank, window) = (input.sizes().len(), operator.uint("LocalSize")?);
    let of = |at: usize| Along {
        at: DIMENSIONS - rank + at,
        size: input.sizes()[at],
        stride: input.strides()[at],
        windows: input.sizes()[at],
        step: 1,
        window,
        dilation: 1,
        first: -i64::from((window - 1) / 2),
        inner: 1,
    };
    Ok(match operator.bool("CrossChannel")? {
        true => vec![of(CHANNELS)],
        false => (CHANNELS + 1..rank).map(of).collect(),
    })
}
