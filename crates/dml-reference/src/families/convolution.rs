//! Convolutions.

use dml_core::operators;

use super::products::{OfProducts, Shapes};
use crate::Reference;

/// The references of this family.
pub(crate) static REFERENCES: &[&dyn Reference] = &[
    &OfProducts { schema: &operators::CONVOLUTION, shapes: Shapes::Convolution },
    &OfProducts { schema: &operators::CONVOLUTION_INTEGER, shapes: Shapes::Convolution },
    &OfProducts { schema: &operators::QUANTIZED_LINEAR_CONVOLUTION, shapes: Shapes::Convolution },
];
