//! The epilogue of sums of products: scale, addend, activation, and conversion to the output's type.

use dml_core::operators;
use dml_core::schema::OperatorSchema;
use dml_core::{DataType, Error, Validated};
use dml_spirv::element_wise::Value;
use dml_spirv::functions as f;

use super::factor::input;
use crate::families::element_wise::{activated, fused};
use crate::ir::Map;
use crate::ir::space::{Operand, leading};
use crate::lowering::conversion::{conversion, widened};
use crate::lowering::map_builder::MapBuilder;

/// The names of the fields for scales and addends: an operator has one of each pair.
pub(crate) const SCALES: [[&str; 2]; 2] =
    [["AScaleTensor", "InputScaleTensor"], ["BScaleTensor", "FilterScaleTensor"]];
pub(crate) const ADDENDS: [&str; 2] = ["CTensor", "BiasTensor"];
pub(crate) const OUTPUT: &str = "OutputTensor";
pub(crate) const OUTPUT_SCALE: &str = "OutputScaleTensor";
pub(crate) const OUTPUT_ZERO_POINT: &str = "OutputZeroPointTensor";

/// The value of an attribute that is a factor; 1 if the operator does not have it.
pub(crate) fn number(operator: &Validated, name: &str) -> Result<f32, Error> {
    if has(operator.schema(), name) { operator.float(name) } else { Ok(1.0) }
}

pub(crate) fn has(schema: &OperatorSchema, name: &str) -> bool {
    schema.has_field(name)
}

/// Whether an activation works on rows (softmax), not on single elements.
pub(crate) fn is_of_rows(activation: &OperatorSchema) -> bool {
    [&operators::ACTIVATION_SOFTMAX, &operators::ACTIVATION_SOFTMAX1].contains(&activation)
}

/// Whether the sums are the output, without any epilogue.
pub(crate) fn is_plain(operator: &Validated) -> Result<bool, Error> {
    let is_left_out = |name: &str| match has(operator.schema(), name) {
        true => operator.tensor(name).map(|it| it.is_none()),
        false => Ok(true),
    };
    let data_type = operator.required_tensor(OUTPUT)?.data_type();
    let has_steps = fused(operator)?.is_some()
        || number(operator, "Alpha")?.to_bits() != f32::to_bits(1.0)
        || SCALES.iter().flatten().any(|name| has(operator.schema(), name));
    let is_alone = is_left_out(ADDENDS[0])? && is_left_out(ADDENDS[1])?;
    Ok(matches!(data_type, DataType::Float32 | DataType::Int32) && !has_steps && is_alone)
}

/// The output's elements of type `data_type` from `sums`, which have the output's sizes.
///
/// Activations of rows are left to the caller.
pub(crate) fn of_sums(
    operator: &Validated,
    sums: Operand,
    are_integers: bool,
    output: Operand,
    data_type: DataType,
) -> Result<Map, Error> {
    let tensor = operator.required_tensor(OUTPUT)?;
    let mut epilogue = Epilogue { operator, map: MapBuilder::default() };
    let mut value = epilogue.map.input(sums);
    let addend = match input(operator, ADDENDS[0])? {
        None => input(operator, ADDENDS[1])?,
        addend => addend,
    };
    let (integer, real): (Option<_>, Option<_>) = match addend {
        Some((_, DataType::Int32)) => (addend, None),
        _ => (None, addend),
    };
    if let Some((operand, _)) = integer {
        let bias = epilogue.map.input(operand);
        value = epilogue.map.apply(&f::ADD_I32, &[value, bias], &[]);
    }
    if are_integers && data_type != DataType::Int32 {
        value = epilogue.map.apply(&f::I32_TO_F32, &[value], &[]);
    }
    value = epilogue.scaled(value)?;
    let alpha = number(operator, "Alpha")?;
    value = epilogue.times(value, alpha);
    if let Some(real) = real {
        let addend = epilogue.single(real);
        let addend = epilogue.times(addend, number(operator, "Beta")?);
        value = epilogue.map.apply(&f::ADD_F32, &[value, addend], &[]);
    }
    if fused(operator)?.is_some_and(|activation| !is_of_rows(activation.schema())) {
        value = activated(operator, &mut epilogue.map.computation, value)?;
    }
    value = epilogue.quantized(value)?;
    if data_type != DataType::Int32 {
        let chain = conversion(DataType::Float32, data_type);
        epilogue.map.apply_all(chain, value);
    }
    Ok(epilogue.map.finish(leading(tensor.sizes(), 1), output))
}

/// The map from the sums to the elements of the output.
struct Epilogue<'a> {
    operator: &'a Validated,
    map: MapBuilder,
}

impl Epilogue<'_> {
    /// Multiplies by the product of both scales.
    fn scaled(&mut self, value: Value) -> Result<Value, Error> {
        let mut scales = vec![];
        for name in SCALES.iter().flatten() {
            scales.extend(input(self.operator, name)?.map(|scale| self.single(scale)));
        }
        if scales.is_empty() {
            return Ok(value);
        }
        let scale = self.map.apply(&f::MULTIPLY_F32, &scales, &[]);
        Ok(self.map.apply(&f::MULTIPLY_F32, &[value, scale], &[]))
    }

    /// Divides by the output's scale, rounds to the nearest integer, and adds the zero point.
    fn quantized(&mut self, value: Value) -> Result<Value, Error> {
        let Some(scale) = input(self.operator, OUTPUT_SCALE)? else { return Ok(value) };
        let scale = self.single(scale);
        let zero = match input(self.operator, OUTPUT_ZERO_POINT)? {
            Some(zero) => self.single(zero),
            None => self.map.computation.zero(value),
        };
        Ok(self.map.apply(&f::QUANTIZE_F32, &[value, scale, zero], &[]))
    }

    /// An input in single precision.
    fn single(&mut self, (operand, data_type): (Operand, DataType)) -> Value {
        let value = self.map.input(operand);
        let chain = match data_type.integer_range() {
            Some(_) => {
                [widened(data_type), conversion(of_32_bits(data_type), DataType::Float32)].concat()
            }
            None => conversion(data_type, DataType::Float32),
        };
        self.map.apply_all(chain, value)
    }

    /// The product with a number; a factor of 1 adds no step.
    fn times(&mut self, value: Value, number: f32) -> Value {
        if number.to_bits() == f32::to_bits(1.0) {
            return value;
        }
        // The bias of -0 changes no product.
        self.map.computation.scaled(value, number, -0.0)
    }
}

/// The type of an integer after `widened`.
fn of_32_bits(data_type: DataType) -> DataType {
    let is_signed = data_type.integer_range().is_some_and(|(least, _)| least < 0);
    if is_signed { DataType::Int32 } else { DataType::Uint32 }
}
