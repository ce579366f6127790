//! Operators on the diagonals of matrices, which are the last two dimensions; those before are batches.

pub(crate) mod cases;
mod reference;

use crate::Reference;

/// All of them.
pub(crate) static REFERENCES: &[&dyn Reference] =
    &[&reference::DiagonalMatrix, &reference::DiagonalMatrix1];
