//! Attention: values weighted by the similarity of their keys to a query.

mod cases;
mod reference;

use dml_core::operators;

use crate::Reference;
use reference::Attention;

/// The references of this family.
pub(crate) static REFERENCES: &[&dyn Reference] = &[
    &Attention { schema: &operators::MULTIHEAD_ATTENTION },
    &Attention { schema: &operators::MULTIHEAD_ATTENTION1 },
];
