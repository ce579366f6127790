//! The program of an element-wise operator, for the types of its tensors and the values of its
//! attributes.
//!
//! Elements are made what is computed with, scaled and biased where the operator says so, given to its
//! function and to that of a fused activation, and made the output's. Halves are computed in single
//! precision and rounded once more: that is the nearest half for `+ - * /` and square roots, since single
//! precision has more than twice the digits (Figueroa, 1995). Scaled and biased elements and fused
//! activations are computed in single precision, whatever the type of the tensors.

use dml_core::schema::{FieldKind, FieldType};
use dml_core::{DataType, Error, FieldValue, Validated};
use dml_spirv::element_wise::{Program, Value};
use dml_spirv::functions::{self as f, Function};

use super::Row;
use super::functions::Functions;
use crate::lowering::conversion::{conversion, narrowed, widened};
use crate::lowering::dispatches::scalar_bits;
use crate::lowering::element_wise::Computation;

/// What `operator` computes.
pub(super) fn computation(operator: &Validated) -> Result<Computation, Error> {
    let row = row(operator)?;
    let mut inputs = Vec::new();
    for (path, tensor) in operator.tensors(FieldKind::Input) {
        let left_out = || Error::internal(operator.schema().name, format!("{path} is left out"));
        inputs.push(tensor.ok_or_else(left_out)?.data_type());
    }
    let output = operator.required_tensor("OutputTensor")?.data_type();
    let (scale_bias, fused) = (scale_bias(operator)?, fused(operator)?);
    let plain = scale_bias.is_none() && fused.is_none();
    let last = inputs.last().copied().unwrap_or(output);
    if row.functions.are_none() && plain {
        return Ok(converted(last, output));
    }
    let computed = if plain { last } else { DataType::Float32 };
    let mut builder = Builder::default();
    let mut operands: Vec<Value> = Vec::new();
    for (data_type, index) in inputs.iter().zip(0..) {
        let chain = match plain {
            true => operand(*data_type, computed, &row.functions),
            false => conversion(*data_type, computed),
        };
        operands.push(builder.program.apply_all(chain, Value::Input(index)));
    }
    if let Some([scale, bias]) = scale_bias {
        operands.splice(..1, [builder.scaled(operands[0], scale, bias)]);
    }
    let mut result = builder.apply(operator, computed, operands)?;
    if let Some(activation) = fused {
        result = builder.apply(activation, computed, vec![result])?;
    }
    let chain = match row.functions.give_integers {
        true if computed.bits() == 64 => vec![&f::LOW_WORDS],
        true => vec![],
        false if row.functions.take_bits() => vec![],
        false if plain => narrowed(output),
        false => conversion(computed, output),
    };
    builder.program.apply_all(chain, result);
    let packed = row.functions.packed(output).filter(|_| plain && builder.parameters.is_empty());
    let packed = packed.map(Program::of);
    Ok(Computation { program: builder.program, packed, parameters: builder.parameters })
}

fn row(operator: &Validated) -> Result<&'static Row, Error> {
    let name = operator.schema().name;
    Row::of(operator.schema()).ok_or_else(|| Error::internal(name, "is not element-wise"))
}

/// The value of the operator's scale and bias, where it has any.
pub(super) fn scale_bias(operator: &Validated) -> Result<Option<[f32; 2]>, Error> {
    let field = operator.schema().fields.iter().find(|it| it.field_type == FieldType::ScaleBias);
    field.map_or(Ok(None), |field| operator.scale_bias(field.name))
}

/// The fused activation, where there is one.
pub(super) fn fused(operator: &Validated) -> Result<Option<&Validated>, Error> {
    let field = operator.schema().fields.iter().find(|it| it.field_type == FieldType::OperatorDesc);
    Ok(field.map(|field| operator.nested(field.name)).transpose()?.and_then(|it| it.first()))
}

/// Elements of one type as those of another. Integers that keep their bits are moved as words.
fn converted(from: DataType, to: DataType) -> Computation {
    let chain = conversion(from, to);
    if chain.is_empty() {
        return Computation::copy();
    }
    Computation { program: Program::chain(chain), ..Computation::default() }
}

/// What makes elements of `data_type` what `functions` compute with beside those of `computed`.
fn operand(
    data_type: DataType,
    computed: DataType,
    functions: &Functions,
) -> Vec<&'static Function> {
    match (functions.take_bits(), computed.bits() == 64 && data_type.bits() < 64) {
        (false, _) => widened(data_type),
        (true, true) => vec![&f::U32_TO_U64],
        (true, false) => vec![],
    }
}

/// A program, and the values of its parameters.
#[derive(Default)]
struct Builder {
    program: Program,
    parameters: Vec<u32>,
}

impl Builder {
    fn parameter(&mut self, word: u32) -> Value {
        self.parameters.push(word);
        Value::Parameter(u32::try_from(self.parameters.len() - 1).unwrap_or(u32::MAX))
    }

    fn scaled(&mut self, value: Value, scale: f32, bias: f32) -> Value {
        let parameters = [scale, bias].map(|it| self.parameter(it.to_bits()));
        let arguments = [&[value], parameters.as_slice()].concat();
        self.program.apply(&f::SCALE_BIAS_F32, arguments)
    }

    /// The operator's function, where it has one, of `operands` and its attributes.
    fn apply(
        &mut self,
        operator: &Validated,
        computed: DataType,
        mut operands: Vec<Value>,
    ) -> Result<Value, Error> {
        let functions = &row(operator)?.functions;
        if functions.are_none() {
            return Ok(operands[0]);
        }
        let function = functions.of(computed).ok_or_else(|| {
            let problem = format!("no function computes with {computed}");
            Error::internal(operator.schema().name, problem)
        })?;
        for element in attributes(operator, computed)? {
            // Of elements with 64 bits the low word is first.
            for word in (0..computed.bits().div_ceil(32)).map(|at| element >> (32 * at)) {
                operands
                    .push(self.parameter(u32::try_from(word & 0xffff_ffff).unwrap_or_default()));
            }
        }
        Ok(self.program.apply(function, operands))
    }
}

/// The numbers among the operator's attributes, as what is computed with.
fn attributes(operator: &Validated, computed: DataType) -> Result<Vec<u64>, Error> {
    // Halves are computed in single precision.
    let computed = if computed == DataType::Float16 { DataType::Float32 } else { computed };
    let schema = operator.schema();
    let mut elements = Vec::new();
    for (field, value) in schema.fields.iter().zip(operator.values()) {
        let (bits, data_type) = match (value, field.scalar_type) {
            (FieldValue::Float(value), _) => (value.to_bits().into(), DataType::Float32),
            (FieldValue::ScalarUnion(value), Some(data_type)) => {
                let data_type = operator.data_type_field(data_type)?;
                (scalar_bits(*value, data_type), data_type)
            }
            _ => continue,
        };
        let chain = match data_type == computed {
            true => widened(data_type),
            false => conversion(data_type, computed),
        };
        elements.push(chain.iter().fold(bits, |bits, function| (function.twin)(&[bits])));
    }
    Ok(elements)
}
