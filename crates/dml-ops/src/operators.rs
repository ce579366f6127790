//! One file for each operator.

pub(crate) mod diagonal_matrix;
pub(crate) mod diagonal_matrix1;
pub(crate) mod fill_value_constant;
