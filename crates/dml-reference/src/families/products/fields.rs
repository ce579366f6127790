//! What the fields of an operator say: how its factors lie, and what becomes of sums.

use dml_core::operators;
use dml_core::schema::OperatorSchema;
use dml_core::{DataType, Error, Validated};

/// Where an operator has its scales and what is added to sums: one of each pair of names.
pub(super) const SCALES: [[&str; 2]; 2] =
    [["AScaleTensor", "InputScaleTensor"], ["BScaleTensor", "FilterScaleTensor"]];
pub(super) const ADDENDS: [&str; 2] = ["CTensor", "BiasTensor"];
pub(super) const OUTPUT: &str = "OutputTensor";
pub(super) const OUTPUT_SCALE: &str = "OutputScaleTensor";
pub(super) const OUTPUT_ZERO_POINT: &str = "OutputZeroPointTensor";

/// The value of an attribute that is a factor; 1 where the operator has none.
pub(super) fn number(operator: &Validated, name: &str) -> Result<f32, Error> {
    if operator.schema().has_field(name) { operator.float(name) } else { Ok(1.0) }
}

/// The number of a choice; `None` where the operator has none.
fn choice(operator: &Validated, name: &str) -> Result<Option<u32>, Error> {
    operator.schema().has_field(name).then(|| operator.uint(name)).transpose()
}

/// Whether the convolution is a transposed one.
pub(super) fn is_backward(operator: &Validated) -> Result<bool, Error> {
    Ok(choice(operator, "Direction")? == Some(1))
}

/// Whether the filter is taken from its other end, as in mathematics.
pub(super) fn is_reversed(operator: &Validated) -> Result<bool, Error> {
    Ok(choice(operator, "Mode")? == Some(0))
}

/// Whether the matrices of A and B are transposed.
pub(super) fn transposed(operator: &Validated) -> Result<[bool; 2], Error> {
    Ok([choice(operator, "TransA")? == Some(1), choice(operator, "TransB")? == Some(1)])
}

/// Whether the products are those of integers of 8 bits, which are added in 32.
pub(super) fn are_integers(operator: &Validated, factors: [&str; 2]) -> Result<bool, Error> {
    let [a, b] = factors.map(|name| operator.required_tensor(name));
    let types = [a?.data_type(), b?.data_type()];
    Ok(types.iter().all(|it| matches!(it, DataType::Int8 | DataType::Uint8)))
}

/// Whether an activation is one of rows, softmax, and not of single elements.
pub(super) fn is_of_rows(activation: &OperatorSchema) -> bool {
    [&operators::ACTIVATION_SOFTMAX, &operators::ACTIVATION_SOFTMAX1].contains(&activation)
}
