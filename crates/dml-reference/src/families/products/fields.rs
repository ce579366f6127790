//! Access to fields that matrix products and convolutions name differently.

use dml_core::operators;
use dml_core::schema::OperatorSchema;
use dml_core::{DataType, Error, Validated};

/// The names of scales, and of tensors that are added to sums, in either family.
pub(super) const SCALES: [[&str; 2]; 2] =
    [["AScaleTensor", "InputScaleTensor"], ["BScaleTensor", "FilterScaleTensor"]];
pub(super) const ADDENDS: [&str; 2] = ["CTensor", "BiasTensor"];
pub(super) const OUTPUT: &str = "OutputTensor";
pub(super) const OUTPUT_SCALE: &str = "OutputScaleTensor";
pub(super) const OUTPUT_ZERO_POINT: &str = "OutputZeroPointTensor";

/// The value of a FLOAT attribute; 1 if the operator lacks it.
pub(super) fn number(operator: &Validated, name: &str) -> Result<f32, Error> {
    if operator.schema().has_field(name) { operator.float(name) } else { Ok(1.0) }
}

/// The value of an enumeration; `None` if the operator lacks it.
fn choice(operator: &Validated, name: &str) -> Result<Option<u32>, Error> {
    operator.schema().has_field(name).then(|| operator.uint(name)).transpose()
}

/// Whether the operator is a transposed convolution.
pub(super) fn is_backward(operator: &Validated) -> Result<bool, Error> {
    Ok(choice(operator, "Direction")? == Some(1))
}

/// Whether the filter is reversed, as in the mathematical definition of convolution.
pub(super) fn is_reversed(operator: &Validated) -> Result<bool, Error> {
    Ok(choice(operator, "Mode")? == Some(0))
}

/// Whether A and B are transposed.
pub(super) fn transposed(operator: &Validated) -> Result<[bool; 2], Error> {
    Ok([choice(operator, "TransA")? == Some(1), choice(operator, "TransB")? == Some(1)])
}

/// Whether the factors are 8-bit integers, whose products are added in 32 bits.
pub(super) fn are_integers(operator: &Validated, factors: [&str; 2]) -> Result<bool, Error> {
    let [a, b] = factors.map(|name| operator.required_tensor(name));
    let types = [a?.data_type(), b?.data_type()];
    Ok(types.iter().all(|data_type| matches!(data_type, DataType::Int8 | DataType::Uint8)))
}

/// Whether an activation is a function of rows, which softmax is, rather than of single elements.
pub(super) fn is_of_rows(activation: &OperatorSchema) -> bool {
    [&operators::ACTIVATION_SOFTMAX, &operators::ACTIVATION_SOFTMAX1].contains(&activation)
}
