//! Lowers softmax, log-softmax and hardmax.
//!
//! ACTIVATION_SOFTMAX1 of FLOAT32 [2, 3] over the last dimension:
//!
//! ```text
//! ACTIVATION_SOFTMAX1
//!   input 0 = InputTensor FLOAT32 [2, 3]
//!   output 0 = OutputTensor FLOAT32 [2, 3]
//!   %0 = 2 elements of 32 bits
//!   %1 = 2 elements of 32 bits
//!   rows
//!     %0 by [1, 0] over [2, 3] = reduce maximum of same (input 0)
//!     output 0 over [2, 3] = map exp_below (input 0, %0 by [1, 0])
//!     %1 by [1, 0] over [2, 3] = reduce sum_high sum_rest of_both of same (output 0)
//!     output 0 over [2, 3] = map divide (output 0, %1 by [1, 0])
//!     48 bytes, 24 operations, 6 invocations
//! ```
//!
//! A Reduce finds the maximum of each row, a second one the sum of the exponentials `e^(x - maximum)`, and a Map
//! writes the quotients. For FLOAT32 the output itself holds the exponentials until their sum is known, so that none
//! is computed twice. A FLOAT16 output cannot hold them, so they are computed again in the last Map. Everything is
//! computed in single precision, because exponentials and their sum exceed half precision. An element is rounded
//! three times: its exponential, the sum, and the quotient.

use dml_core::{DataType, Error, TensorLayout, Validated};
use dml_spirv::element_wise::{ElementFormula, Value};
use dml_spirv::functions::{self as f, Function};
use dml_spirv::reduce::{LEAST_U32, LOG_SUM_F32, Reducer, SUM_F32};

use crate::Target;
use crate::ir::space::Operand;
use crate::ir::{self, Recorder, Reduction};
use crate::lowering::conversion::conversion;
use crate::lowering::rows::Rows;

/// `e^(x - greatest) / sum`.
pub(super) fn softmax(operator: &Validated, target: &Target<'_>) -> Result<ir::Program, Error> {
    let rows = Rows::new(operator, target)?;
    let data_type = rows.data_type;
    softmax_of(rows, data_type)
}

/// `x - greatest - ln(sum)`.
pub(super) fn log_softmax(operator: &Validated, target: &Target<'_>) -> Result<ir::Program, Error> {
    let rows = Rows::new(operator, target)?;
    let data_type = rows.data_type;
    shares_of(rows, data_type, &LOG_SUM_F32, &f::LOG_SOFTMAX_F32)
}

/// Softmax that is fused into an operator, on `input` in single precision, which has the sizes of the output.
pub(crate) fn fused_softmax(
    activation: &Validated,
    recorder: Recorder<'_>,
    tensor: &TensorLayout,
    operands: [Operand; 2],
) -> Result<ir::Program, Error> {
    let rows = Rows::fused(activation, recorder, tensor, operands)?;
    softmax_of(rows, tensor.data_type())
}

/// Softmax whose results are elements of `data_type`.
fn softmax_of(rows: Rows<'_>, data_type: DataType) -> Result<ir::Program, Error> {
    match data_type {
        DataType::Float32 => shares_of_kept_powers(rows),
        _ => shares_of(rows, data_type, &SUM_F32, &f::SOFTMAX_F32),
    }
}

/// Softmax whose output holds the exponentials first, and then their quotients.
fn shares_of_kept_powers(mut rows: Rows<'_>) -> Result<ir::Program, Error> {
    let greatest = rows.greatest()?;
    let (mut program, element) = rows.of_element();
    program.apply(&f::EXP_BELOW_F32, [element, Value::Input(1)]);
    rows.write(rows.sizes, vec![rows.input.clone(), greatest], program)?;
    let powers = rows.output(0)?;
    let of_powers = Reduction { program: ElementFormula::default(), ..Reduction::of(&SUM_F32) };
    let sum = rows.reduce_of(powers.clone(), of_powers)?;
    rows.write(rows.sizes, vec![powers, sum], ElementFormula::of(&f::DIVIDE_F32))?;
    Ok(rows.finish())
}

/// The result of `share` on an element, the maximum of its row and the result of `sum` on the row's
/// exponentials, as elements of `data_type`.
fn shares_of(
    mut rows: Rows<'_>,
    data_type: DataType,
    sum: &'static Reducer,
    share: &'static Function,
) -> Result<ir::Program, Error> {
    let [greatest, sum] = rows.powers(sum)?;
    let (mut program, element) = rows.of_element();
    let share = program.apply(share, [element, Value::Input(1), Value::Input(2)]);
    program.apply_all(conversion(DataType::Float32, data_type), share);
    let inputs = vec![rows.input.clone(), greatest, sum];
    rows.write(rows.sizes, inputs, program)?;
    Ok(rows.finish())
}

/// 1 at the first of the greatest elements, else 0.
pub(super) fn hardmax(operator: &Validated, target: &Target<'_>) -> Result<ir::Program, Error> {
    let mut rows = Rows::new(operator, target)?;
    let greatest = rows.greatest()?;
    let numbers = rows.numbers();
    let (mut program, element) = rows.of_element();
    program.apply(&f::NUMBER_WHERE_EQUAL_F32, [element, Value::Input(1), Value::Input(2)]);
    let reduction = Reduction { program, ..Reduction::of(&LEAST_U32) };
    let first = rows.reduce(vec![greatest, numbers.clone()], reduction)?;
    let mut program = ElementFormula::of(&f::EQUALS_I32);
    program.apply_all(conversion(DataType::Uint32, rows.data_type), program.last());
    rows.write(rows.sizes, vec![numbers, first], program)?;
    Ok(rows.finish())
}
