//! The programs of element-wise operators, for the types of their tensors.

use dml_core::schema::FieldKind;
use dml_core::{DataType, Error, Validated};
use dml_spirv::element_wise::{Program, Value};
use dml_spirv::functions::{Function, SCALE_BIAS_F32};

use crate::lowering::conversion::{self, narrowed, widened};
use crate::lowering::element_wise::Computation;

/// The functions that compute the same on elements of different types; none where the operator has no
/// such types.
pub(super) struct Arithmetic {
    /// For floats of up to 32 bits.
    pub(super) f32: Option<&'static Function>,
    /// For integers of up to 32 bits, with a sign and without.
    pub(super) i32: Option<&'static Function>,
    pub(super) u32: Option<&'static Function>,
    /// For those of 64 bits.
    pub(super) i64: Option<&'static Function>,
    pub(super) u64: Option<&'static Function>,
    /// On the four integers of 8 bits in a word, or the two of 16: faster where there is one.
    pub(super) in_bytes: Option<&'static Function>,
    pub(super) in_halves: Option<&'static Function>,
}

impl Arithmetic {
    fn function(&self, data_type: DataType) -> Option<&'static Function> {
        match data_type {
            DataType::Float16 | DataType::Float32 => self.f32,
            DataType::Int8 | DataType::Int16 | DataType::Int32 => self.i32,
            DataType::Uint8 | DataType::Uint16 | DataType::Uint32 => self.u32,
            DataType::Int64 => self.i64,
            DataType::Uint64 => self.u64,
            DataType::Float64 | DataType::Uint4 | DataType::Int4 => None,
        }
    }

    fn packed(&self, data_type: DataType) -> Option<&'static Function> {
        match data_type {
            DataType::Int8 | DataType::Uint8 => self.in_bytes,
            DataType::Int16 | DataType::Uint16 => self.in_halves,
            _ => None,
        }
    }
}

/// A function of all inputs, which have the output's type. Halves are computed in single precision and
/// rounded once more: that is the nearest half for `+ - * /` and square roots, since single precision
/// has more than twice the digits (Figueroa, 1995).
pub(super) fn arithmetic(
    operator: &Validated,
    functions: &Arithmetic,
) -> Result<Computation, Error> {
    let data_type = operator.required_tensor("OutputTensor")?.data_type();
    let function = functions.function(data_type).ok_or_else(|| {
        let problem = format!("no function computes with {data_type}");
        Error::internal(operator.schema().name, problem)
    })?;
    let inputs = || (0..operator.tensors(FieldKind::Input).count()).map(Value::Input);
    let mut program = Program::default();
    let operands = inputs().map(|input| program.apply_all(widened(data_type), input)).collect();
    let result = program.apply(function, operands);
    program.apply_all(narrowed(data_type), result);
    let packed = functions.packed(data_type).map(|function| {
        let mut program = Program::default();
        program.apply(function, inputs().collect());
        program
    });
    Ok(Computation { program, packed, parameters: vec![] })
}

/// From the input's type to the output's. Integers that keep their bits are moved as words.
pub(super) fn conversion(operator: &Validated) -> Result<Computation, Error> {
    let [from, to] = ["InputTensor", "OutputTensor"].map(|field| operator.required_tensor(field));
    let chain = conversion::conversion(from?.data_type(), to?.data_type());
    if chain.is_empty() {
        return Ok(Computation::copy());
    }
    Ok(Computation { program: Program::chain(chain), ..Computation::default() })
}

/// The input's bits, or scaled and biased: in single precision, to which other types are converted and
/// from which they come back.
pub(super) fn scale_bias(operator: &Validated) -> Result<Computation, Error> {
    let Some(scale_bias) = operator.scale_bias("ScaleBias")? else {
        return Ok(Computation::copy());
    };
    let data_type = operator.required_tensor("OutputTensor")?.data_type();
    let mut program = Program::chain(conversion::conversion(data_type, DataType::Float32));
    let arguments = vec![program.last(), Value::Parameter(0), Value::Parameter(1)];
    let scaled = program.apply(&SCALE_BIAS_F32, arguments);
    program.apply_all(conversion::conversion(DataType::Float32, data_type), scaled);
    let parameters = scale_bias.map(f32::to_bits).to_vec();
    Ok(Computation { program, packed: None, parameters })
}
