//! Operators on diagonals of matrices: the last two dimensions, with batches before them.

pub(crate) mod cases;
mod reference;

use crate::Reference;

/// The references of this family.
pub(crate) static REFERENCES: &[&dyn Reference] =
    &[&reference::DiagonalMatrix, &reference::DiagonalMatrix1];
