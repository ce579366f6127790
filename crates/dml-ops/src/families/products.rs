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
use convolution::Convolution;
pub(crate) use factor::{Build, Storage, Words};
use lowering::lower;
#[cfg(feature = "reference")]
use reference::OfProducts;

/// Rows: `NAME = lowering, shapes;`.
macro_rules! products {
    ($($name:ident = $lower:expr, $shapes:ident;)*) => {
        /// All of them.
        pub(crate) static OPERATORS: &[&Operator] = &[$(&Operator {
            schema: &operators::$name,
            lower: $lower,
            #[cfg(feature = "reference")]
            reference: &OfProducts { schema: &operators::$name, shapes: Shapes::$shapes },
        }),*];
    };
}

products! {
    CONVOLUTION = lower::<Convolution>, Convolution;
    CONVOLUTION_INTEGER = lower::<Convolution>, Convolution;
    GEMM = matrix::matrices, Matrices;
    MATRIX_MULTIPLY_INTEGER = matrix::matrices, Matrices;
    MATRIX_MULTIPLY_INTEGER_TO_FLOAT = matrix::matrices, Matrices;
    QUANTIZED_LINEAR_CONVOLUTION = lower::<Convolution>, Convolution;
    QUANTIZED_LINEAR_MATRIX_MULTIPLY = matrix::matrices, Matrices;
}
