//! Tables of numbers that the host makes.

use crate::convert::{from_float, from_integer};
use crate::element::ElementType;
use crate::error::Result;
use crate::graph::ops::NodeInputs;
use crate::graph::value::Value;
use crate::tensor::{Tensor, host_elements};

/// A tensor of these numbers, converted to `element`.
pub(super) fn table(
    element: ElementType,
    shape: Vec<u64>,
    numbers: impl Iterator<Item = f64>,
) -> Result<Value> {
    host_elements(&shape)?;
    let bits = numbers.map(|number| from_float(number, element));
    Tensor::of_bits(element, shape, bits).map(Value::host)
}

/// Consecutive numbers from 0 on, in row-major order.
pub(super) fn numbers(
    operands: &NodeInputs<'_>,
    element: ElementType,
    shape: &[u64],
) -> Result<Value> {
    operands.budget.take(shape)?;
    let count: u64 = shape.iter().product();
    let bits = (0..count).map(|it| from_integer(it.into(), element));
    Tensor::of_bits(element, shape, bits).map(Value::host)
}
