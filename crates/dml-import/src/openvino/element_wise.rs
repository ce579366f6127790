//! Element-wise operators: each element of the output is computed from one element of each input.

use std::ops::RangeInclusive;

use dml_core::operators as tables;
use dml_core::schema::OperatorSchema;

use crate::error::{Result, shortened};
use crate::graph::{
    ABSOLUTE, ADD, AND, ApproximateGelu, BIT_AND, BIT_XOR, Bounds, CEIL, Clip, DIVIDE, EQUAL,
    ElementWise, FLOOR, FLOOR_DIVIDE, FLOOR_REMAINDER, Function, GELU, GREATER, GREATER_OR_EQUAL,
    LESS, LESS_OR_EQUAL, MAXIMUM, MINIMUM, MULTIPLY, Mish, NEGATE, NOT, OR, Op, POWER, RELU,
    REMAINDER, SUBTRACT, Types, WHERE, XOR,
};

use super::layer::Layer;
use super::operator_version::{Build, OperatorVersion, Parameter, element_wise as op, row};

use Parameter::{Attribute, Fixed};

const fn element_wise(
    name: &'static str,
    since: u32,
    inputs: RangeInclusive<usize>,
    function: Function,
) -> OperatorVersion {
    OperatorVersion { name, since, inputs, build: Build::ElementWise(function, &[]) }
}

/// An operator of two inputs.
const fn binary(name: &'static str, since: u32, function: Function) -> OperatorVersion {
    element_wise(name, since, 2..=2, function)
}

/// An operator of one input that the host computes, too.
const fn unary(name: &'static str, since: u32, function: Function) -> OperatorVersion {
    element_wise(name, since, 1..=1, function)
}

/// An operator of one input that only DirectML computes, for numbers.
const fn on_device(
    name: &'static str,
    since: u32,
    schema: &'static OperatorSchema,
    parameters: &'static [Parameter],
) -> OperatorVersion {
    let function = Function::new(Types::Numbers, schema);
    OperatorVersion { name, since, inputs: 1..=1, build: Build::ElementWise(function, parameters) }
}

const BIT_OR: Function = Function::new(Types::Numbers, &tables::ELEMENT_WISE_BIT_OR);
const DIFFERENCE_SQUARE: Function =
    Function::new(Types::Numbers, &tables::ELEMENT_WISE_DIFFERENCE_SQUARE);
const IS_NAN: Function = Function::new(Types::Numbers, &tables::ELEMENT_WISE_IS_NAN).truth();
/// The slope and the offset of HSigmoid and HSwish.
const HARD: &[Parameter] = &[Fixed(1.0 / 6.0), Fixed(0.5)];

/// All versions of these operators, in any order.
pub(super) static ROWS: &[OperatorVersion] = &[
    binary("Add", 1, ADD),
    binary("Subtract", 1, SUBTRACT),
    binary("Multiply", 1, MULTIPLY),
    row("Divide", 1, 2..=2, |layer| {
        let floors = layer.flag("m_pythondiv", true);
        Ok(Box::new(ElementWise::new(if floors { FLOOR_DIVIDE } else { DIVIDE })))
    }),
    binary("Mod", 1, REMAINDER),
    binary("FloorMod", 1, FLOOR_REMAINDER),
    binary("Minimum", 1, MINIMUM),
    binary("Maximum", 1, MAXIMUM),
    binary("Power", 1, POWER),
    binary("SquaredDifference", 1, DIFFERENCE_SQUARE),
    binary("Less", 1, LESS),
    binary("LessEqual", 1, LESS_OR_EQUAL),
    binary("Greater", 1, GREATER),
    binary("GreaterEqual", 1, GREATER_OR_EQUAL),
    binary("Equal", 1, EQUAL),
    binary("LogicalAnd", 1, AND),
    binary("LogicalOr", 1, OR),
    binary("LogicalXor", 1, XOR),
    binary("BitwiseAnd", 13, BIT_AND),
    binary("BitwiseOr", 13, BIT_OR),
    binary("BitwiseXor", 13, BIT_XOR),
    element_wise("Select", 1, 3..=3, WHERE),
    unary("Negative", 1, NEGATE),
    unary("Abs", 1, ABSOLUTE),
    unary("ReLU", 1, RELU),
    unary("LogicalNot", 1, NOT),
    unary("Ceiling", 1, CEIL),
    unary("Floor", 1, FLOOR),
    unary("IsNaN", 10, IS_NAN),
    on_device("BitwiseNot", 13, &tables::ELEMENT_WISE_BIT_NOT, &[]),
    on_device("Acos", 1, &tables::ELEMENT_WISE_ACOS, &[]),
    on_device("Acosh", 4, &tables::ELEMENT_WISE_ACOSH, &[]),
    on_device("Asin", 1, &tables::ELEMENT_WISE_ASIN, &[]),
    on_device("Asinh", 4, &tables::ELEMENT_WISE_ASINH, &[]),
    on_device("Atan", 1, &tables::ELEMENT_WISE_ATAN, &[]),
    on_device("Atanh", 4, &tables::ELEMENT_WISE_ATANH, &[]),
    on_device("Cos", 1, &tables::ELEMENT_WISE_COS, &[]),
    on_device("Cosh", 1, &tables::ELEMENT_WISE_COSH, &[]),
    on_device("Erf", 1, &tables::ELEMENT_WISE_ERF, &[]),
    on_device("Exp", 1, &tables::ELEMENT_WISE_EXP, &[]),
    on_device("Log", 1, &tables::ELEMENT_WISE_LOG, &[]),
    on_device("Sigmoid", 1, &tables::ACTIVATION_SIGMOID, &[]),
    on_device("Sign", 1, &tables::ELEMENT_WISE_SIGN, &[]),
    on_device("Sin", 1, &tables::ELEMENT_WISE_SIN, &[]),
    on_device("Sinh", 1, &tables::ELEMENT_WISE_SINH, &[]),
    on_device("SoftSign", 9, &tables::ACTIVATION_SOFTSIGN, &[]),
    on_device("Sqrt", 1, &tables::ELEMENT_WISE_SQRT, &[]),
    on_device("Tan", 1, &tables::ELEMENT_WISE_TAN, &[]),
    on_device("Tanh", 1, &tables::ACTIVATION_TANH, &[]),
    on_device("Elu", 1, &tables::ACTIVATION_ELU, &[Attribute("alpha")]),
    on_device("HSigmoid", 5, &tables::ACTIVATION_HARD_SIGMOID, HARD),
    on_device("HSwish", 4, &tables::ACTIVATION_HARD_SWISH, HARD),
    on_device("SoftPlus", 4, &tables::ACTIVATION_SOFTPLUS, &[Fixed(1.0)]),
    on_device("Swish", 4, &tables::ACTIVATION_SWISH, &[Fixed(1.0)]),
    row("Mish", 4, 1..=1, |_| Ok(Box::new(Mish))),
    row("Gelu", 2, 1..=1, |_| Ok(Box::new(ElementWise::new(GELU)))),
    row("Gelu", 7, 1..=1, gelu),
    row("Round", 5, 1..=1, round),
    row("Clamp", 1, 1..=1, |layer| {
        let (min, max) = (Some(layer.number("min")?), Some(layer.number("max")?));
        Ok(Box::new(Clip { bounds: Bounds::Attributes { min, max } }))
    }),
];

fn gelu(layer: &Layer) -> Result<Box<dyn Op>> {
    match layer.attribute("approximation_mode").unwrap_or("ERF").to_ascii_uppercase().as_str() {
        "ERF" => Ok(Box::new(ElementWise::new(GELU))),
        "TANH" => Ok(Box::new(ApproximateGelu)),
        _ => Err(layer.refused("approximation_mode", "is unknown", "ERF, TANH")),
    }
}

fn round(layer: &Layer) -> Result<Box<dyn Op>> {
    match layer.attribute("mode").unwrap_or("half_to_even").to_ascii_lowercase().as_str() {
        "half_to_even" => op(layer, ROUND, &[]),
        mode => Err(layer.node.not_supported(format!("its mode is {}", shortened(mode)))),
    }
}

/// Rounds to nearest, ties to even, which is DirectML's first mode.
const ROUND: Function = Function::new(Types::Numbers, &tables::ELEMENT_WISE_ROUND);

#[cfg(test)]
mod tests {
    use dml_core::FieldValue;
    use dml_core::schema::FieldKind;

    use super::*;

    /// A row's inputs and FLOAT parameters match the fields of DirectML's operator.
    #[test]
    fn rows_have_the_inputs_and_floats_of_their_operators() {
        for row in ROWS {
            let Build::ElementWise(function, parameters) = &row.build else { continue };
            let fields = || function.schema().fields.iter();
            let inputs = fields().filter(|field| field.kind == FieldKind::Input).count();
            assert_eq!(row.inputs, inputs..=inputs, "{}", row.name);
            let is_float = |it: &&dml_core::schema::FieldSchema| {
                it.kind == FieldKind::Attribute
                    && matches!(it.field_type.empty_value(), FieldValue::Float(_))
            };
            assert_eq!(fields().filter(is_float).count(), parameters.len(), "{}", row.name);
        }
    }
}
