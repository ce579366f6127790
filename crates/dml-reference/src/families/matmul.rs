//! Matrix products.

use dml_core::operators;

use super::products::{OfProducts, Shapes};
use crate::Reference;

/// The references of this family.
pub(crate) static REFERENCES: &[&dyn Reference] = &[
    &OfProducts { schema: &operators::GEMM, shapes: Shapes::Matrices },
    &OfProducts { schema: &operators::MATRIX_MULTIPLY_INTEGER, shapes: Shapes::Matrices },
    &OfProducts { schema: &operators::MATRIX_MULTIPLY_INTEGER_TO_FLOAT, shapes: Shapes::Matrices },
    &OfProducts { schema: &operators::QUANTIZED_LINEAR_MATRIX_MULTIPLY, shapes: Shapes::Matrices },
];
