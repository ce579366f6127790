//! Data movement: each element of an output is an element of an input, or a constant. FOLD adds the elements
//! that it moves to one position.

mod cases;
mod reference;

use crate::Reference;

/// The references of this family.
pub(crate) static REFERENCES: &[&dyn Reference] = &[
    &reference::JOIN,
    &reference::SPLIT,
    &reference::SLICE,
    &reference::SLICE1,
    &reference::TILE,
    &reference::SPACE_TO_DEPTH,
    &reference::SPACE_TO_DEPTH1,
    &reference::DEPTH_TO_SPACE,
    &reference::DEPTH_TO_SPACE1,
    &reference::PADDING,
    &reference::PADDING1,
    &reference::SLICE_GRAD,
    &reference::UNFOLD,
    &reference::FOLD,
];
