//! RANDOM_GENERATOR: words that look random, and are the same for the same state everywhere.

mod reference;

use crate::Reference;

/// All of them.
pub(crate) static REFERENCES: &[&dyn Reference] = &[&reference::Philox];
