//! Operators that only training needs: an optimizer, batch normalization by the moments of a batch, and gradients of
//! operators of other families.

mod adam;
mod batch;
mod cases;
mod given;
mod pooling;
mod reference;
mod regions;
mod resample;
mod response;
#[cfg(test)]
mod tests;

use crate::Reference;
use reference::Trained;

/// All of them.
pub(crate) static REFERENCES: &[&dyn Reference] = &[
    &Trained(&adam::Adam),
    &Trained(&batch::Gradients { in_training: false }),
    &Trained(&batch::Training),
    &Trained(&batch::Gradients { in_training: true }),
    &Trained(&pooling::Average),
    &Trained(&pooling::Maximum),
    &Trained(&response::Response),
    &Trained(&resample::Resampling { has_direction: false }),
    &Trained(&resample::Resampling { has_direction: true }),
    &Trained(&regions::Regions),
];
