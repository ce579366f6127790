//! Element-wise operators: each element of the output is computed from one element of each input.
//!
//! An operator whose DirectML counterpart is not implemented yet is refused with the counterpart's name.

use std::ops::RangeInclusive;

use dml_core::operators as tables;

use crate::error::Result;
use crate::graph::{
    ABSOLUTE, ADD, AND, BIT_AND, BIT_XOR, Broadcasting, CEIL, DIVIDE, EQUAL, ElementWise, FLOOR,
    Function, GREATER, GREATER_OR_EQUAL, IS_NAN, LESS, LESS_OR_EQUAL, MAXIMUM, MINIMUM, MULTIPLY,
    NEGATE, NOT, OR, Op, PARAMETERIZED_RELU, POWER, RELU, SIGN, SUBTRACT, Types, WHERE, XOR,
};
use crate::onnx::attributes::{Attributes, Kind};

use Types::Numbers;

use super::{ANY, Build, OperatorVersion};

/// An element-wise operator without attributes.
pub(super) const fn element_wise(
    name: &'static str,
    since: i64,
    inputs: RangeInclusive<usize>,
    function: Function,
) -> OperatorVersion {
    let build = Build::ElementWise(function);
    OperatorVersion { domain: "", name, since, attributes: &[], inputs, outputs: 1..=1, build }
}

/// An operator of one input that only DirectML computes, for numbers.
const fn unary(
    name: &'static str,
    since: i64,
    schema: &'static dml_core::schema::OperatorSchema,
) -> OperatorVersion {
    element_wise(name, since, 1..=1, Function::new(Numbers, schema))
}

/// An operator of one input with FLOAT parameters, in DirectML's order: the attributes with their defaults.
pub(super) const fn activation(
    name: &'static str,
    since: i64,
    schema: &'static dml_core::schema::OperatorSchema,
    attributes: &'static [(&'static str, Kind)],
    defaults: &'static [f32],
) -> OperatorVersion {
    let build = Build::Parameterized(Function::new(Numbers, schema), defaults);
    OperatorVersion { domain: "", name, since, attributes, inputs: 1..=1, outputs: 1..=1, build }
}

/// Swish: elements times their sigmoid.
pub(super) const fn swish(
    name: &'static str,
    since: i64,
    steepness: &'static [f32],
) -> OperatorVersion {
    activation(name, since, &tables::ACTIVATION_SWISH, &ALPHA, steepness)
}

/// An operator of two inputs before version 7.
const fn legacy(name: &'static str, since: i64, function: Function) -> OperatorVersion {
    let build = Build::Legacy(function);
    OperatorVersion {
        domain: "",
        name,
        since,
        attributes: &LEGACY,
        inputs: 2..=2,
        outputs: 1..=1,
        build,
    }
}

const LEGACY: [(&str, Kind); 3] =
    [("axis", Kind::Int), ("broadcast", Kind::Int), ("consumed_inputs", Kind::Ints)];
pub(super) const CONSUMED: [(&str, Kind); 1] = [("consumed_inputs", Kind::Ints)];

/// PRelu before version 7: one slope for each index along the second dimension, or one for all.
pub(super) fn slope_of_channels(_: &Attributes<'_>) -> Result<Box<dyn Op>> {
    let broadcasting = Broadcasting::Legacy { is_allowed: true, axis: Some(1) };
    Ok(Box::new(ElementWise { broadcasting, ..ElementWise::new(PARAMETERIZED_RELU) }))
}

const ALPHA: [(&str, Kind); 1] = [("alpha", Kind::Float)];
const ALPHA_BETA: [(&str, Kind); 2] = [("alpha", Kind::Float), ("beta", Kind::Float)];
const ALPHA_GAMMA: [(&str, Kind); 2] = [("alpha", Kind::Float), ("gamma", Kind::Float)];
const SHRINK: [(&str, Kind); 2] = [("bias", Kind::Float), ("lambd", Kind::Float)];
/// Selu's constants, with the digits that ONNX gives.
pub(super) const SELU: [f32; 2] = [1.673_263_2, 1.050_701];

/// All versions of these operators, in any order.
pub(super) static ROWS: &[OperatorVersion] = &[
    legacy("Add", 1, ADD),
    element_wise("Add", 7, 2..=2, ADD),
    legacy("Sub", 1, SUBTRACT),
    element_wise("Sub", 7, 2..=2, SUBTRACT),
    legacy("Mul", 1, MULTIPLY),
    element_wise("Mul", 7, 2..=2, MULTIPLY),
    legacy("Div", 1, DIVIDE),
    element_wise("Div", 7, 2..=2, DIVIDE),
    element_wise("Sum", 6, 1..=ANY, ADD),
    element_wise("Min", 6, 1..=ANY, MINIMUM),
    element_wise("Max", 6, 1..=ANY, MAXIMUM),
    element_wise("Neg", 6, 1..=1, NEGATE),
    element_wise("Abs", 6, 1..=1, ABSOLUTE),
    element_wise("Relu", 6, 1..=1, RELU),
    element_wise("Where", 9, 3..=3, WHERE),
    legacy("Less", 1, LESS),
    element_wise("Less", 7, 2..=2, LESS),
    element_wise("LessOrEqual", 12, 2..=2, LESS_OR_EQUAL),
    legacy("Greater", 1, GREATER),
    element_wise("Greater", 7, 2..=2, GREATER),
    element_wise("GreaterOrEqual", 12, 2..=2, GREATER_OR_EQUAL),
    legacy("Equal", 1, EQUAL),
    element_wise("Equal", 7, 2..=2, EQUAL),
    legacy("And", 1, AND),
    element_wise("And", 7, 2..=2, AND),
    legacy("Or", 1, OR),
    element_wise("Or", 7, 2..=2, OR),
    legacy("Xor", 1, XOR),
    element_wise("Xor", 7, 2..=2, XOR),
    element_wise("Not", 1, 1..=1, NOT),
    legacy("Pow", 1, POWER),
    element_wise("PRelu", 7, 2..=2, PARAMETERIZED_RELU),
    element_wise("IsNaN", 9, 1..=1, IS_NAN),
    element_wise("BitwiseAnd", 18, 2..=2, BIT_AND),
    element_wise("BitwiseOr", 18, 2..=2, Function::new(Numbers, &tables::ELEMENT_WISE_BIT_OR)),
    element_wise("BitwiseXor", 18, 2..=2, BIT_XOR),
    unary("BitwiseNot", 18, &tables::ELEMENT_WISE_BIT_NOT),
    unary("Acos", 7, &tables::ELEMENT_WISE_ACOS),
    unary("Acosh", 9, &tables::ELEMENT_WISE_ACOSH),
    unary("Asin", 7, &tables::ELEMENT_WISE_ASIN),
    unary("Asinh", 9, &tables::ELEMENT_WISE_ASINH),
    unary("Atan", 7, &tables::ELEMENT_WISE_ATAN),
    unary("Atanh", 9, &tables::ELEMENT_WISE_ATANH),
    element_wise("Ceil", 6, 1..=1, CEIL),
    unary("Cos", 7, &tables::ELEMENT_WISE_COS),
    unary("Cosh", 9, &tables::ELEMENT_WISE_COSH),
    unary("Erf", 9, &tables::ELEMENT_WISE_ERF),
    unary("Exp", 6, &tables::ELEMENT_WISE_EXP),
    element_wise("Floor", 6, 1..=1, FLOOR),
    unary("Log", 6, &tables::ELEMENT_WISE_LOG),
    unary("Reciprocal", 6, &tables::ELEMENT_WISE_RECIP),
    // Rounds to nearest, ties to even, which is DirectML's first mode.
    unary("Round", 11, &tables::ELEMENT_WISE_ROUND),
    element_wise("Sign", 9, 1..=1, SIGN),
    unary("Sin", 7, &tables::ELEMENT_WISE_SIN),
    unary("Sinh", 9, &tables::ELEMENT_WISE_SINH),
    unary("Sqrt", 6, &tables::ELEMENT_WISE_SQRT),
    unary("Tan", 7, &tables::ELEMENT_WISE_TAN),
    unary("Sigmoid", 6, &tables::ACTIVATION_SIGMOID),
    unary("Softsign", 1, &tables::ACTIVATION_SOFTSIGN),
    unary("Tanh", 6, &tables::ACTIVATION_TANH),
    activation("Celu", 12, &tables::ACTIVATION_CELU, &ALPHA, &[1.0]),
    activation("Elu", 6, &tables::ACTIVATION_ELU, &ALPHA, &[1.0]),
    swish("Swish", 24, &[1.0]),
    activation("HardSigmoid", 6, &tables::ACTIVATION_HARD_SIGMOID, &ALPHA_BETA, &[0.2, 0.5]),
    // HardSwish has a fixed slope and offset, not attributes.
    activation("HardSwish", 14, &tables::ACTIVATION_HARD_SWISH, &[], &[1.0 / 6.0, 0.5]),
    activation("LeakyRelu", 6, &tables::ACTIVATION_LEAKY_RELU, &ALPHA, &[0.01]),
    activation("Selu", 6, &tables::ACTIVATION_SCALED_ELU, &ALPHA_GAMMA, &SELU),
    activation("Shrink", 9, &tables::ACTIVATION_SHRINK, &SHRINK, &[0.0, 0.5]),
    // Softplus has a fixed steepness, not an attribute.
    activation("Softplus", 1, &tables::ACTIVATION_SOFTPLUS, &[], &[1.0]),
    activation("ThresholdedRelu", 10, &tables::ACTIVATION_THRESHOLDED_RELU, &ALPHA, &[1.0]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use dml_core::FieldValue;
    use dml_core::schema::FieldKind;

    /// A row's inputs and FLOAT parameters match the fields of DirectML's operator.
    #[test]
    fn rows_have_the_inputs_and_floats_of_their_operators() {
        for row in ROWS {
            let (function, floats) = match &row.build {
                Build::ElementWise(function) | Build::Legacy(function) => (function, 0),
                Build::Parameterized(function, defaults) => (function, defaults.len()),
                _ => panic!("{} is not an element-wise operator", row.name),
            };
            let fields = || function.schema().fields.iter();
            let inputs = fields().filter(|field| field.kind == FieldKind::Input).count();
            let expected = if *row.inputs.end() == ANY { 2 } else { *row.inputs.end() };
            assert_eq!(inputs, expected, "{}", row.name);
            let is_float = |it: &&dml_core::schema::FieldSchema| {
                it.kind == FieldKind::Attribute
                    && matches!(it.field_type.empty_value(), FieldValue::Float(_))
            };
            assert_eq!(fields().filter(is_float).count(), floats, "{}", row.name);
            assert!(matches!(row.build, Build::Legacy(_)) || row.attributes.len() <= floats);
        }
    }
}
