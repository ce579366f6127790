//! What the operators are by their documentation.

mod diagonal_matrix;
mod diagonal_matrix1;

pub(super) use diagonal_matrix::DiagonalMatrixReference;
pub(super) use diagonal_matrix1::DiagonalMatrix1Reference;
