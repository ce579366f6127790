//! Convolutions, forward and transposed.

mod factors;
mod lowering;
mod taps;

use dml_core::operators;

use crate::Operator;
use crate::families::products::lower;
use lowering::Convolution;

/// All operators of the family.
pub(crate) static OPERATORS: &[&Operator] = &[
    &Operator { schema: &operators::CONVOLUTION, program: lower::<Convolution> },
    &Operator { schema: &operators::CONVOLUTION_INTEGER, program: lower::<Convolution> },
    &Operator { schema: &operators::QUANTIZED_LINEAR_CONVOLUTION, program: lower::<Convolution> },
];
