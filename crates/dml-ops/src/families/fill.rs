//! Operators whose output depends on attributes alone.

mod lowering;
mod sequence;
#[cfg(test)]
mod tests;

use dml_core::operators;

use crate::Operator;

/// All operators of the family.
pub(crate) static OPERATORS: &[&Operator] = &[&FILL_VALUE_CONSTANT, &FILL_VALUE_SEQUENCE];

/// Every element becomes Value.
pub(crate) static FILL_VALUE_CONSTANT: Operator =
    Operator { schema: &operators::FILL_VALUE_CONSTANT, program: lowering::lower };

/// The element with the row-major index `i` becomes ValueStart + i * ValueDelta.
pub(crate) static FILL_VALUE_SEQUENCE: Operator =
    Operator { schema: &operators::FILL_VALUE_SEQUENCE, program: sequence::lower };
