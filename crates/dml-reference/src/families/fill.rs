//! Operators whose output is made from nothing but attributes.

pub(crate) mod cases;
mod reference;
mod sequence_reference;

use crate::Reference;

/// All of them.
pub(crate) static REFERENCES: &[&dyn Reference] =
    &[&reference::FillValueConstant, &sequence_reference::FillValueSequence];
