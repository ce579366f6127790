//! Reductions of rows to one element, arg-max and arg-min, and cumulative sums and products.

mod lowering;
mod running;
#[cfg(test)]
mod tests;

use dml_core::operators;

use crate::Operator;

/// All operators of the family.
pub(crate) static OPERATORS: &[&Operator] = &[
    &Operator { schema: &operators::REDUCE, program: lowering::reduce },
    &Operator { schema: &operators::ARGMAX, program: lowering::argmax },
    &Operator { schema: &operators::ARGMIN, program: lowering::argmin },
    &Operator { schema: &operators::CUMULATIVE_SUMMATION, program: running::sums },
    &Operator { schema: &operators::CUMULATIVE_PRODUCT, program: running::products },
];
