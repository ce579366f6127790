//! Operators that order the elements along a dimension.

mod cases;
mod reference;

use dml_core::operators;

use crate::Reference;
use reference::TopK;

/// All of them.
pub(crate) static REFERENCES: &[&dyn Reference] =
    &[&TopK { schema: &operators::TOP_K }, &TopK { schema: &operators::TOP_K1 }];
