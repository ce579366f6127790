//! Operators that add up products: of matrices, and of a filter with what it passes over.
//!
//! They differ in which elements meet, and in what becomes of the sums: the names of their fields tell that.

mod cases;
mod fields;
mod meaning;
mod reference;

use dml_core::operators;

use crate::Reference;
use cases::Shapes;
use reference::OfProducts;

/// Rows: `NAME = shapes;`.
macro_rules! products {
    ($($name:ident = $shapes:ident;)*) => {
        /// All of them.
        pub(crate) static REFERENCES: &[&dyn Reference] = &[$(&OfProducts {
            schema: &operators::$name,
            shapes: Shapes::$shapes,
        }),*];
    };
}

products! {
    CONVOLUTION = Convolution;
    CONVOLUTION_INTEGER = Convolution;
    GEMM = Matrices;
    MATRIX_MULTIPLY_INTEGER = Matrices;
    MATRIX_MULTIPLY_INTEGER_TO_FLOAT = Matrices;
    QUANTIZED_LINEAR_CONVOLUTION = Convolution;
    QUANTIZED_LINEAR_MATRIX_MULTIPLY = Matrices;
}
