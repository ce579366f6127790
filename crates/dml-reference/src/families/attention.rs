//! Attention: values, weighted by how well their keys fit a query.

mod cases;
mod reference;

use dml_core::operators;

use crate::Reference;
use reference::Attention;

/// All of them.
pub(crate) static REFERENCES: &[&dyn Reference] = &[
    &Attention { schema: &operators::MULTIHEAD_ATTENTION },
    &Attention { schema: &operators::MULTIHEAD_ATTENTION1 },
];
