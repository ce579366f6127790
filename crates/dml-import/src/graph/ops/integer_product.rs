//! Matrix products of integers, which DirectML's GEMM does not support: element-wise products of all rows and
//! columns, then sums. They are exact, modulo the size of the type.

use dml_core::ReduceFunction;

use crate::convert::{from_float, from_integer};
use crate::error::Result;
use crate::graph::ops::arithmetic::MULTIPLY;
use crate::graph::ops::element_wise::apply;
use crate::graph::ops::{NodeInputs, Op, Reduce};
use crate::graph::value::Value;

/// The product of two matrices, or of batches of them; a factor of one dimension is a row or a column.
pub(super) fn integer_product(
    operands: &NodeInputs<'_>,
    a: &Value,
    b: &Value,
    output: &[u64],
) -> Result<Value> {
    let (of_a, of_b) = (a.shape()?, b.shape()?);
    let first = operands.reshaped(a, &[of_a, &[1]].concat())?;
    let second = match of_b.split_last_chunk::<2>() {
        Some((batches, matrix)) => operands.reshaped(b, &[batches, &[1], matrix].concat())?,
        None => operands.reshaped(b, &[of_b, &[1]].concat())?,
    };
    let products = apply(operands, MULTIPLY, &[first, second])?;
    let only = NodeInputs { values: vec![Some(&products)], ..*operands };
    let sum = Reduce {
        function: ReduceFunction::Sum,
        axes: Some(vec![-2]),
        keeps_dimensions: false,
        is_none_of_none: false,
    };
    operands.reshaped(&sum.evaluate(&only)?.remove(0), output)
}

/// The elements times a factor, which must be an integer if the elements are.
pub(super) fn scaled(
    operands: &NodeInputs<'_>,
    value: &Value,
    name: &str,
    factor: f32,
) -> Result<Value> {
    if factor.to_bits() == 1.0_f32.to_bits() {
        return Ok(value.clone());
    }
    let element = value.element()?;
    let is_whole = factor.fract() == 0.0 && factor.abs() <= 2.0_f32.powi(24);
    if element.is_integer() && !is_whole {
        let accepted = "whole numbers up to 16777216 for integers";
        return Err(operands.node.invalid(name, factor, "is not an integer", accepted));
    }
    #[expect(clippy::cast_possible_truncation, reason = "a whole number of 24 bits")]
    let bits = match element.is_integer() {
        true => from_integer(factor as i128, element),
        false => from_float(factor.into(), element),
    };
    apply(operands, MULTIPLY, &[value.clone(), Value::scalar(element, bits)])
}
