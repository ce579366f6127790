//! Operators for training: an optimizer, batch normalization by a batch's moments, and gradients of other
//! families' operators.

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

/// The references of this family.
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
