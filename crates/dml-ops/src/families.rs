//! One folder for each family: its operators, their lowering and their reference.

pub(crate) mod copy;
pub(crate) mod diagonal;
pub(crate) mod element_wise;
pub(crate) mod fill;
