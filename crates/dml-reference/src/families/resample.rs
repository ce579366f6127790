//! Resampling: each element of the output is an element of the input, or a weighted mean of neighbours.

pub(crate) mod cases;
mod reference;

use dml_core::operators;

use crate::Reference;
use reference::Resampled;

/// The references of this family.
pub(crate) static REFERENCES: &[&dyn Reference] = &[
    &Resampled { schema: &operators::UPSAMPLE_2D },
    &Resampled { schema: &operators::RESAMPLE },
    &Resampled { schema: &operators::RESAMPLE1 },
    &Resampled { schema: &operators::RESAMPLE2 },
    &Resampled { schema: &operators::RESAMPLE3 },
];
