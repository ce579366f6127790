//! The program of an element-wise operator, for the types of its tensors and the values of its
//! attributes.
//!
//! Elements are converted to the type of the computation, scaled and biased if the operator has that, passed to its
//! function and to that of a fused activation, and converted to the output's type. Halves are computed in single
//! precision and rounded once more: that is the nearest half for `+ - * /` and square roots, since single
//! precision has more than twice the digits (Figueroa, 1995). Scaled and biased elements and fused
//! activations are computed in single precision, whatever the type of the tensors.

use dml_core::schema::{FieldKind, FieldType, TensorPath};
use dml_core::{DataType, Error, FieldValue, TensorLayout, Validated};
use dml_spirv::element_wise::{ElementFormula, Value};
use dml_spirv::functions::{self as f, Function};

use super::FunctionsOfOperator;
use super::functions::Functions;
use crate::ir::Computation;
use crate::lowering::conversion::{conversion, narrowed, widened};

/// The computation of `operator`.
pub(super) fn computation(operator: &Validated) -> Result<Computation, Error> {
    let functions = &row(operator)?.functions;
    let inputs = operator.tensors(FieldKind::Input).map(|(_, it)| it.map(TensorLayout::data_type));
    let inputs: Vec<Option<DataType>> = inputs.collect();
    let present: Vec<DataType> = inputs.iter().copied().flatten().collect();
    let output = output(operator)?.1.data_type();
    let fused = fused(operator)?;
    let plain = scale_bias(operator)?.is_none() && fused.is_none();
    let is_single = functions.in_single || !plain || is_mixed(functions, &present);
    let first = present.first().copied().unwrap_or(output);
    let leading = if functions.follow_last() { present.last().copied() } else { None };
    let leading = leading.unwrap_or(first);
    if functions.are_none() && !is_single {
        return Ok(converted(leading, output));
    }
    let [first, computed] = if is_single { [DataType::Float32; 2] } else { [first, leading] };
    let mut computation = Computation::default();
    let mut operands: Vec<Value> = Vec::new();
    let mut index = 0;
    for data_type in &inputs {
        let Some(data_type) = data_type else {
            operands.push(computation.zero(operands[0]));
            continue;
        };
        let chain = match is_single {
            true => conversion(*data_type, computed),
            false => operand(*data_type, computed, functions),
        };
        operands.push(computation.program.apply_all(chain, Value::Input(index)));
        index += 1;
    }
    let mut result = computation.apply_operator(operator, [first, computed], operands)?;
    if let Some(activation) = fused {
        result = computation.apply_operator(activation, [computed; 2], vec![result])?;
    }
    let chain = match functions.give_integers {
        true if computed.bits() == 64 => vec![&f::LOW_WORDS],
        true => vec![],
        false if functions.take_bits() => vec![],
        false if is_single => conversion(computed, output),
        false => narrowed(output),
    };
    computation.program.apply_all(chain, result);
    if !is_single && computation.parameters.is_empty() {
        computation.packed = functions.packed(output).map(ElementFormula::of);
    }
    Ok(computation)
}

/// The operator's only output, and the path of its field.
pub(super) fn output(operator: &Validated) -> Result<(TensorPath, &TensorLayout), Error> {
    let output = operator.present_tensors(FieldKind::Output).next();
    output.ok_or_else(|| Error::internal(operator.schema().name, "has no output"))
}

/// Applies the operator's fused activation to a single-precision value; the value itself if none is fused.
pub(crate) fn activated(
    operator: &Validated,
    computation: &mut Computation,
    value: Value,
) -> Result<Value, Error> {
    match fused(operator)? {
        Some(activation) => {
            computation.apply_operator(activation, [DataType::Float32; 2], vec![value])
        }
        None => Ok(value),
    }
}

fn row(operator: &Validated) -> Result<&'static FunctionsOfOperator, Error> {
    let name = operator.schema().name;
    FunctionsOfOperator::of(operator.schema())
        .ok_or_else(|| Error::internal(name, "is not element-wise"))
}

/// The operator's scale and bias, if it has them.
pub(super) fn scale_bias(operator: &Validated) -> Result<Option<[f32; 2]>, Error> {
    let field =
        operator.schema().fields.iter().find(|field| field.field_type == FieldType::ScaleBias);
    field.map_or(Ok(None), |field| operator.scale_bias(field.name))
}

/// The fused activation, if there is one.
pub(crate) fn fused(operator: &Validated) -> Result<Option<&Validated>, Error> {
    let field =
        operator.schema().fields.iter().find(|field| field.field_type == FieldType::OperatorDesc);
    Ok(field
        .map(|field| operator.nested(field.name))
        .transpose()?
        .and_then(|transpose| transpose.first()))
}

/// The conversion of elements from one type to another. Integers that keep their bits are moved as words.
fn converted(from: DataType, to: DataType) -> Computation {
    let chain = conversion(from, to);
    if chain.is_empty() {
        return Computation::copy();
    }
    Computation::of(ElementFormula::chain(chain))
}

/// Whether there are floats and integers, or floats of different types: functions that compute with floats
/// then take all of them in single precision.
pub(super) fn is_mixed(functions: &Functions, inputs: &[DataType]) -> bool {
    let is_float = |it: &DataType| it.integer_range().is_none();
    let differ = inputs.iter().any(|input| *input != inputs[0]);
    differ && functions.f32.is_some() && inputs.iter().any(is_float)
}

/// The conversions of elements of `data_type` to operands of `functions`, beside operands of type `computed`.
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

impl Computation {
    /// The operator's function, if it has one, of `operands` and its attributes; the first operand and the
    /// others have these types. The first is scaled and biased before, if the operator has that.
    pub(crate) fn apply_operator(
        &mut self,
        operator: &Validated,
        [first, computed]: [DataType; 2],
        mut operands: Vec<Value>,
    ) -> Result<Value, Error> {
        if let Some([scale, bias]) = scale_bias(operator)? {
            operands[0] = self.scaled(operands[0], scale, bias);
        }
        let functions = &row(operator)?.functions;
        if functions.are_none() {
            return Ok(operands[0]);
        }
        let function = functions.of_both(first, computed).ok_or_else(|| {
            let problem = format!("no function computes with {computed}");
            Error::internal(operator.schema().name, problem)
        })?;
        for word in attributes(operator, computed)? {
            operands.push(self.parameter(word));
        }
        Ok(self.program.apply(function, operands))
    }
}

/// The operator's attributes as parameters: numbers in the type of the computation, those of 64 bits with the
/// low word first, and the values of enumerations.
fn attributes(operator: &Validated, computed: DataType) -> Result<Vec<u32>, Error> {
    // Halves are computed in single precision.
    let computed = if computed == DataType::Float16 { DataType::Float32 } else { computed };
    let schema = operator.schema();
    let mut words = Vec::new();
    for (field, value) in schema.fields.iter().zip(operator.values()) {
        let (bits, data_type) = match (value, field.scalar_type) {
            (FieldValue::Uint(value), _) if field.is_choice() => {
                words.push(*value);
                continue;
            }
            (FieldValue::Float(value), _) => (value.to_bits().into(), DataType::Float32),
            (FieldValue::ScalarUnion(value), Some(data_type)) => {
                let data_type = operator.data_type_field(data_type)?;
                (value.element_bits(data_type), data_type)
            }
            _ => continue,
        };
        let chain = match data_type == computed {
            true => widened(data_type),
            false => conversion(data_type, computed),
        };
        let element = ElementFormula::chain(chain).evaluated(&[bits], &[]).result();
        let of_element = (0..computed.bits().div_ceil(32)).map(|at| element >> (32 * at));
        words.extend(
            of_element
                .map(|of_element| u32::try_from(of_element & 0xffff_ffff).unwrap_or_default()),
        );
    }
    Ok(words)
}
