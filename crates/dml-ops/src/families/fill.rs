//! Operators whose output is made from nothing but attributes.

#[cfg(feature = "reference")]
pub(crate) mod cases;
mod lowering;
#[cfg(feature = "reference")]
mod reference;
mod sequence;
#[cfg(feature = "reference")]
mod sequence_reference;
#[cfg(test)]
mod tests;

use dml_core::operators;

use crate::Operator;

/// All of them.
pub(crate) static OPERATORS: &[&Operator] = &[&FILL_VALUE_CONSTANT, &FILL_VALUE_SEQUENCE];

/// Every element becomes Value.
pub(crate) static FILL_VALUE_CONSTANT: Operator = Operator {
    schema: &operators::FILL_VALUE_CONSTANT,
    lower: lowering::lower,
    #[cfg(feature = "reference")]
    reference: &reference::FillValueConstant,
};

/// The element with the row-major index `i` becomes ValueStart + i * ValueDelta.
pub(crate) static FILL_VALUE_SEQUENCE: Operator = Operator {
    schema: &operators::FILL_VALUE_SEQUENCE,
    lower: sequence::lower,
    #[cfg(feature = "reference")]
    reference: &sequence_reference::FillValueSequence,
};
