//! Operators that add up products: of matrices, and of a filter with what it passes over. A row for each operator.
//!
//! They differ in which elements meet, and in what becomes of the sums: the names of their fields tell that.

mod convolution;
mod cooperative;
mod factor;
mod lowering;
mod matrix;
mod result;
mod taps;
#[cfg(test)]
mod tests;

use dml_core::operators;

use crate::Operator;
use convolution::Convolution;
pub(crate) use factor::{Build, Storage, Words};
use lowering::lower;

/// Rows: `NAME = lowering;`.
macro_rules! products {
    ($($name:ident = $lower:expr;)*) => {
        /// All of them.
        pub(crate) static OPERATORS: &[&Operator] = &[$(&Operator {
            schema: &operators::$name,
            lower: $lower,
        }),*];
    };
}

products! {
    CONVOLUTION = lower::<Convolution>;
    CONVOLUTION_INTEGER = lower::<Convolution>;
    GEMM = matrix::matrices;
    MATRIX_MULTIPLY_INTEGER = matrix::matrices;
    MATRIX_MULTIPLY_INTEGER_TO_FLOAT = matrix::matrices;
    QUANTIZED_LINEAR_CONVOLUTION = lower::<Convolution>;
    QUANTIZED_LINEAR_MATRIX_MULTIPLY = matrix::matrices;
}
