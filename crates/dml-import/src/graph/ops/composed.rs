//! Element-wise functions that are composed of others for types that DirectML's operators do not support, or
//! where ONNX's rule differs.

use dml_core::DataType;
use dml_core::operators as tables;

use crate::element::ElementType;
use crate::error::Result;
use crate::graph::ops::NodeInputs;
use crate::graph::ops::arithmetic::{IS_NAN, LESS, MAXIMUM, MULTIPLY, WHERE};
use crate::graph::ops::element_wise::apply;
use crate::graph::ops::function::{Function, Types};
use crate::graph::ops::scalar::Scalar;
use crate::graph::value::{Kind, Value};

use Types::{Floats, Numbers};

pub(crate) const ABSOLUTE: Function = Function::new(Numbers, &tables::ELEMENT_WISE_ABS)
    .fold(|it| match it[0] {
        Scalar::Integer(value) => Scalar::Integer(value.abs()),
        Scalar::Float(value) => Scalar::Float(value.abs()),
    })
    .composed(is_unsigned, unchanged);

pub(crate) const SIGN: Function = Function::new(Numbers, &tables::ELEMENT_WISE_SIGN)
    .composed(|element| !element.is_integer(), sign);

/// An IsInf that detects neither infinity.
pub(crate) const NEVER_INFINITE: Function =
    Function::new(Floats, &tables::ELEMENT_WISE_IS_INFINITY).truth().composed(|_| true, never);

pub(crate) const RELU: Function = Function::new(Numbers, &tables::ACTIVATION_RELU)
    .fold(|it| match it[0] {
        Scalar::Integer(value) => Scalar::Integer(value.max(0)),
        Scalar::Float(value) if value < 0.0 => Scalar::Float(0.0),
        nan_or_positive => nan_or_positive,
    })
    .composed(is_beyond_activations, rectified);

pub(crate) const PARAMETERIZED_RELU: Function =
    Function::new(Numbers, &tables::ACTIVATION_PARAMETERIZED_RELU)
        .composed(is_beyond_activations, rectified_with_slopes);

fn is_unsigned(element: ElementType) -> bool {
    use DataType::{Uint8, Uint16, Uint32, Uint64};
    matches!(element, ElementType::Dml(Uint8 | Uint16 | Uint32 | Uint64))
}

/// Whether DirectML's activations do not support this integer type.
fn is_beyond_activations(element: ElementType) -> bool {
    is_unsigned(element) || element == ElementType::INT64
}

/// The elements as they are.
fn unchanged(_: &NodeInputs<'_>, values: &[Value]) -> Result<Value> {
    Ok(values[0].clone())
}

/// False for every element.
fn never(_: &NodeInputs<'_>, values: &[Value]) -> Result<Value> {
    let kind = Kind { element: ElementType::Bool, shape: values[0].shape()?.into() };
    Ok(Value::fill(kind, 0))
}

/// The greater of an element and 0.
fn rectified(operands: &NodeInputs<'_>, values: &[Value]) -> Result<Value> {
    let zero = Value::scalar(values[0].element()?, 0);
    apply(operands, MAXIMUM, &[values[0].clone(), zero])
}

/// The elements, of which negative ones are multiplied by a slope.
fn rectified_with_slopes(operands: &NodeInputs<'_>, values: &[Value]) -> Result<Value> {
    let [data, slopes] = values else { return Ok(values[0].clone()) };
    let zero = Value::scalar(data.element()?, 0);
    let is_below = apply(operands, LESS, &[data.clone(), zero])?;
    let sloped = apply(operands, MULTIPLY, &[data.clone(), slopes.clone()])?;
    apply(operands, WHERE, &[is_below, sloped, data.clone()])
}

/// -1, 0 or 1; a NaN stays NaN, which DirectML's operator would make 0.
fn sign(operands: &NodeInputs<'_>, values: &[Value]) -> Result<Value> {
    let data = &values[0];
    let sign = Function::new(Numbers, &tables::ELEMENT_WISE_SIGN);
    let sign = apply(operands, sign, std::slice::from_ref(data))?;
    let is_nan = apply(operands, IS_NAN, std::slice::from_ref(data))?;
    apply(operands, WHERE, &[is_nan, data.clone(), sign])
}
