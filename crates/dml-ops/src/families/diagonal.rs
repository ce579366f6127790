//! Operators on the diagonals of matrices, which are the last two dimensions; those before are
//! batches. Each is a [`BandMatrix`].

mod band;
#[cfg(feature = "reference")]
pub(crate) mod cases;
mod lowering;
#[cfg(feature = "reference")]
mod reference;
#[cfg(test)]
mod tests;

use dml_core::{Error, Validated, operators, value};

use crate::ir;
use crate::schedule::dispatches::scalar_bits;
use crate::{Operator, Target};
use lowering::BandMatrix;

/// All of them.
pub(crate) static OPERATORS: &[&Operator] = &[&DIAGONAL_MATRIX, &DIAGONAL_MATRIX1];

/// `out[.., y, x] = (y + Offset == x) ? Value : 0`. Offsets that miss the matrix leave zeros.
pub(crate) static DIAGONAL_MATRIX: Operator = Operator {
    schema: &operators::DIAGONAL_MATRIX,
    lower: lower_diagonal_matrix,
    form: None,
    #[cfg(feature = "reference")]
    reference: &reference::DiagonalMatrix,
};

/// With `t = x - y`, Value where `DiagonalFillBegin <= t < DiagonalFillEnd`; where begin is above end,
/// everywhere but where `DiagonalFillEnd <= t < DiagonalFillBegin`. Elsewhere the input's element, or
/// zero without an input.
pub(crate) static DIAGONAL_MATRIX1: Operator = Operator {
    schema: &operators::DIAGONAL_MATRIX1,
    lower: lower_diagonal_matrix1,
    form: None,
    #[cfg(feature = "reference")]
    reference: &reference::DiagonalMatrix1,
};

/// A band of one diagonal without an input.
fn lower_diagonal_matrix(operator: &Validated, target: &Target<'_>) -> Result<ir::Program, Error> {
    let output = operator.required_tensor("OutputTensor")?;
    let offset = i64::from(operator.int("Offset")?);
    let matrix = BandMatrix {
        operator: operator.schema().name,
        input: None,
        output,
        begin: offset,
        end: offset + 1,
        value: value::element_bits(operator.float("Value")?, output.data_type()),
    };
    Ok(ir::Program::opaque(matrix.lower(target)?))
}

fn lower_diagonal_matrix1(operator: &Validated, target: &Target<'_>) -> Result<ir::Program, Error> {
    let output = operator.required_tensor("OutputTensor")?;
    let matrix = BandMatrix {
        operator: operator.schema().name,
        input: operator.tensor("InputTensor")?,
        output,
        begin: operator.int("DiagonalFillBegin")?.into(),
        end: operator.int("DiagonalFillEnd")?.into(),
        value: scalar_bits(operator.scalar("Value")?, output.data_type()),
    };
    let mut plan = matrix.lower(target)?;
    // The binding of an input that is left out exists, and stays empty.
    plan.inputs.resize(1, None);
    Ok(ir::Program::opaque(plan))
}
