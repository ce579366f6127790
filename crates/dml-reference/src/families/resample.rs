//! Operators that give a tensor other sizes: each element of the output is one of the input, or a mean of
//! neighbours.

pub(crate) mod cases;
mod reference;

use dml_core::operators;

use crate::Reference;
use reference::Resampled;

/// All of them.
pub(crate) static REFERENCES: &[&dyn Reference] = &[
    &Resampled { schema: &operators::UPSAMPLE_2D },
    &Resampled { schema: &operators::RESAMPLE },
    &Resampled { schema: &operators::RESAMPLE1 },
    &Resampled { schema: &operators::RESAMPLE2 },
    &Resampled { schema: &operators::RESAMPLE3 },
];
