//! NONZERO_COORDINATES: where the elements of a tensor are that are not 0.

mod cases;
mod reference;

use crate::Reference;

/// All of them.
pub(crate) static REFERENCES: &[&dyn Reference] = &[&reference::Nonzero];
