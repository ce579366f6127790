//! Operators on regions of interest (ROI): each element of the output is computed from the samples or elements
//! of a cell of a region.

pub(super) mod cases;
pub(super) mod reference;

use dml_core::operators;

use crate::Reference;
use reference::OfRegions;

/// The references of this family.
pub(crate) static REFERENCES: &[&dyn Reference] = &[
    &OfRegions { schema: &operators::ROI_POOLING },
    &OfRegions { schema: &operators::ROI_ALIGN },
    &OfRegions { schema: &operators::ROI_ALIGN1 },
];
