//! Element-wise functions of types that DirectML's operators do not take, or whose rule ONNX has another way.

use dml_core::DataType;
use dml_core::operators::ELEMENT_WISE_SIGN;

use crate::element::ElementType;
use crate::error::Result;
use crate::graph::ops::Operands;
use crate::graph::ops::arithmetic::{IS_NAN, LESS, MAXIMUM, MULTIPLY, WHERE};
use crate::graph::ops::element_wise::apply;
use crate::graph::ops::function::{Function, Types};
use crate::graph::value::{Kind, Value};

pub(super) fn is_unsigned(element: ElementType) -> bool {
    use DataType::{Uint8, Uint16, Uint32, Uint64};
    matches!(element, ElementType::Dml(Uint8 | Uint16 | Uint32 | Uint64))
}

/// Whether no activation of DirectML takes such integers.
pub(super) fn is_beyond_activations(element: ElementType) -> bool {
    is_unsigned(element) || element == ElementType::INT64
}

/// The elements as they are.
pub(super) fn unchanged(_: &Operands<'_>, values: &[Value]) -> Result<Value> {
    Ok(values[0].clone())
}

/// False, whatever the elements are.
pub(super) fn never(_: &Operands<'_>, values: &[Value]) -> Result<Value> {
    let kind = Kind { element: ElementType::Bool, shape: values[0].shape()?.to_vec() };
    Ok(Value::fill(kind, 0))
}

/// The greater of an element and 0.
pub(super) fn rectified(operands: &Operands<'_>, values: &[Value]) -> Result<Value> {
    let zero = Value::scalar(values[0].element()?, 0);
    apply(operands, MAXIMUM, &[values[0].clone(), zero])
}

/// The elements, those below 0 times a slope.
pub(super) fn rectified_with_slopes(operands: &Operands<'_>, values: &[Value]) -> Result<Value> {
    let [data, slopes] = values else { return Ok(values[0].clone()) };
    let zero = Value::scalar(data.element()?, 0);
    let is_below = apply(operands, LESS, &[data.clone(), zero])?;
    let sloped = apply(operands, MULTIPLY, &[data.clone(), slopes.clone()])?;
    apply(operands, WHERE, &[is_below, sloped, data.clone()])
}

/// -1, 0 or 1; of a NaN, which DirectML's operator makes 0, that NaN.
pub(super) fn sign(operands: &Operands<'_>, values: &[Value]) -> Result<Value> {
    let data = &values[0];
    let sign = Function::new(Types::Numbers, &ELEMENT_WISE_SIGN);
    let sign = apply(operands, sign, std::slice::from_ref(data))?;
    let is_nan = apply(operands, IS_NAN, std::slice::from_ref(data))?;
    apply(operands, WHERE, &[is_nan, data.clone(), sign])
}
