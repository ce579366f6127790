//! What the families' lowerings are made of.

pub(crate) mod boxes;
pub(crate) mod constants;
pub(crate) mod dispatches;
pub(crate) mod fill;
pub(crate) mod grid;
pub(crate) mod seed;
