//! What the families' lowerings are made of.

pub(crate) mod boxes;
pub(crate) mod constants;
pub(crate) mod conversion;
pub(crate) mod cost;
pub(crate) mod dispatches;
pub(crate) mod element_wise;
pub(crate) mod fill;
pub(crate) mod form;
pub(crate) mod grid;
pub(crate) mod iteration;
pub(crate) mod kernels;
pub(crate) mod made;
pub(crate) mod owned;
pub(crate) mod piece;
pub(crate) mod product;
pub(crate) mod reduce;
pub(crate) mod relocate;
pub(crate) mod scale;
pub(crate) mod seed;
