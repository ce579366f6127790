//! The dimensions of a recurrent network's spaces.

use dml_spirv::element_wise::DIMENSIONS;

/// The dimensions of steps, sequences and hidden elements in a space.
pub(super) const STEPS: usize = DIMENSIONS - 3;
pub(super) const SEQUENCES: usize = DIMENSIONS - 2;
pub(super) const HIDDEN: usize = DIMENSIONS - 1;

/// Strides of steps, sequences and hidden elements.
pub(super) fn of_strides(strides: [i64; 3]) -> [i64; DIMENSIONS] {
    let mut all = [0; DIMENSIONS];
    all[STEPS..].copy_from_slice(&strides);
    all
}
