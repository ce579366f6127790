//! TOP_K and TOP_K1: operators that sort elements along a dimension.

mod cases;
mod reference;

use dml_core::operators;

use crate::Reference;
use reference::TopK;

/// The references of this family.
pub(crate) static REFERENCES: &[&dyn Reference] =
    &[&TopK { schema: &operators::TOP_K }, &TopK { schema: &operators::TOP_K1 }];
