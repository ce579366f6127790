//! One file for each operator.

pub(crate) mod diagonal_matrix;
