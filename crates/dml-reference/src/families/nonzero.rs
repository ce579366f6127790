//! NONZERO_COORDINATES: the coordinates of nonzero elements.

mod cases;
mod reference;

use crate::Reference;

/// The references of this family.
pub(crate) static REFERENCES: &[&dyn Reference] = &[&reference::Nonzero];
