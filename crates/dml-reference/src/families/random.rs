//! RANDOM_GENERATOR: a reproducible pseudo-random generator.

mod reference;

use crate::Reference;

/// The references of this family.
pub(crate) static REFERENCES: &[&dyn Reference] = &[&reference::Philox];
