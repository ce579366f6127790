//! Operators on regions of interest: an element of the output is made of the elements of a cell of a region, and
//! regions are inputs.

pub(super) mod cases;
pub(super) mod reference;

use dml_core::operators;

use crate::Reference;
use reference::OfRegions;

/// All of them.
pub(crate) static REFERENCES: &[&dyn Reference] = &[
    &OfRegions { schema: &operators::ROI_POOLING },
    &OfRegions { schema: &operators::ROI_ALIGN },
    &OfRegions { schema: &operators::ROI_ALIGN1 },
];
