//! Operators that add up products: of matrices, and of a filter with what it passes over. A row for each operator.
//!
//! They differ in which elements meet, and in what becomes of the sums: the names of their fields tell that.

#[cfg(feature = "reference")]
mod cases;
mod convolution;
mod cooperative;
mod factor;
mod lowering;
mod matrix;
#[cfg(feature = "reference")]
mod meaning;
#[cfg(feature = "reference")]
mod reference;
mod result;
mod taps;
#[cfg(test)]
mod tests;

use dml_core::operators;

use crate::Operator;
#[cfg(feature = "reference")]
use cases::Shapes;
pub(crate) use factor::{Build, Storage, Words};
#[cfg(feature = "reference")]
use reference::OfProducts;

/// Rows: `NAME = lowering, shapes;`.
macro_rules! products {
    ($($name:ident = $lower:path, $shapes:ident;)*) => {
        /// All of them.
        pub(crate) static OPERATORS: &[&Operator] = &[$(&Operator {
            schema: &operators::$name,
            lower: $lower,
            form: None,
            #[cfg(feature = "reference")]
            reference: &OfProducts { schema: &operators::$name, shapes: Shapes::$shapes },
        }),*];
    };
}

products! {
    CONVOLUTION = convolution::convolution, Convolution;
    CONVOLUTION_INTEGER = convolution::convolution, Convolution;
    GEMM = matrix::matrices, Matrices;
    MATRIX_MULTIPLY_INTEGER = matrix::matrices, Matrices;
    MATRIX_MULTIPLY_INTEGER_TO_FLOAT = matrix::matrices, Matrices;
    QUANTIZED_LINEAR_CONVOLUTION = convolution::convolution, Convolution;
    QUANTIZED_LINEAR_MATRIX_MULTIPLY = matrix::matrices, Matrices;
}
