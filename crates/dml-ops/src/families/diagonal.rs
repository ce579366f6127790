//! Operators on the diagonals of matrices: the last two dimensions are matrices, the others batches.
//!
//! DIAGONAL_MATRIX of FLOAT32 [2, 3] with the offset 1 and the value 2:
//!
//! ```text
//! DIAGONAL_MATRIX
//!   output 0 = OutputTensor FLOAT32 [2, 3]
//!   output 0 = band 0x40000000 in diagonals 1..2 on zeros
//!     24 bytes, 6 operations, 6 invocations
//! ```
//!
//! Each operator is a single [`ir::Band`], for which the schedule chooses a strategy.

#[cfg(test)]
mod tests;

use dml_core::{Error, Validated, operators, value};

use crate::ir::{self, Recorder};
use crate::{Operator, Target};

/// All operators of the family.
pub(crate) static OPERATORS: &[&Operator] = &[&DIAGONAL_MATRIX, &DIAGONAL_MATRIX1];

/// `out[.., y, x] = (y + Offset == x) ? Value : 0`. Offsets that miss the matrix leave zeros.
pub(crate) static DIAGONAL_MATRIX: Operator =
    Operator { schema: &operators::DIAGONAL_MATRIX, program: lower_diagonal_matrix };

/// With `t = x - y`, Value where `DiagonalFillBegin <= t < DiagonalFillEnd`; where begin is above end,
/// everywhere but where `DiagonalFillEnd <= t < DiagonalFillBegin`. Elsewhere the input's element, or
/// zero without an input.
pub(crate) static DIAGONAL_MATRIX1: Operator =
    Operator { schema: &operators::DIAGONAL_MATRIX1, program: lower_diagonal_matrix1 };

/// A band of one diagonal without an input.
fn lower_diagonal_matrix(operator: &Validated, target: &Target<'_>) -> Result<ir::Program, Error> {
    let output = operator.required_tensor("OutputTensor")?;
    let offset = i64::from(operator.int("Offset")?);
    let value = value::element_bits(operator.float("Value")?, output.data_type());
    let mut recorder = Recorder::new(operator, target);
    recorder.band(output, [offset, offset + 1], value);
    Ok(recorder.finish())
}

fn lower_diagonal_matrix1(operator: &Validated, target: &Target<'_>) -> Result<ir::Program, Error> {
    let output = operator.required_tensor("OutputTensor")?;
    let diagonals = [operator.int("DiagonalFillBegin")?, operator.int("DiagonalFillEnd")?];
    let value = operator.scalar("Value")?.element_bits(output.data_type());
    let mut recorder = Recorder::new(operator, target);
    recorder.band(output, diagonals.map(i64::from), value);
    Ok(recorder.finish())
}
