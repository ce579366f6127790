//! Operators whose output depends on attributes only.

pub(crate) mod cases;
mod reference;
mod sequence_reference;

use crate::Reference;

/// The references of this family.
pub(crate) static REFERENCES: &[&dyn Reference] =
    &[&reference::FillValueConstant, &sequence_reference::FillValueSequence];
