//! Operators on the diagonals of matrices.

mod band;
mod diagonal_matrix;
mod diagonal_matrix1;
mod lowering;
#[cfg(feature = "reference")]
mod reference;
#[cfg(test)]
mod tests;

pub(crate) use diagonal_matrix::DiagonalMatrix;
pub(crate) use diagonal_matrix1::DiagonalMatrix1;
