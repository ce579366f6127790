//! Operators that move elements: each element of an output is one of an input, or another value. FOLD adds what it
//! moves to one place.

mod cases;
mod reference;

use crate::Reference;

/// All of them.
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
