//! Matrix multiplications.

mod cooperative;
mod lowering;

use dml_core::operators;

use crate::Operator;
use lowering::matrices;

/// All operators of the family.
pub(crate) static OPERATORS: &[&Operator] = &[
    &Operator { schema: &operators::GEMM, program: matrices },
    &Operator { schema: &operators::MATRIX_MULTIPLY_INTEGER, program: matrices },
    &Operator { schema: &operators::MATRIX_MULTIPLY_INTEGER_TO_FLOAT, program: matrices },
    &Operator { schema: &operators::QUANTIZED_LINEAR_MATRIX_MULTIPLY, program: matrices },
];
