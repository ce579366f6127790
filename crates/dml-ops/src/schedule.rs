//! How kernels compute what operators say.

pub(crate) mod boxes;
pub(crate) mod constants;
pub(crate) mod contract;
pub(crate) mod cost;
pub(crate) mod dispatches;
pub(crate) mod fill;
pub(crate) mod grid;
pub(crate) mod kernels;
pub(crate) mod map;
pub(crate) mod owned;
pub(crate) mod piece;
pub(crate) mod reduce;
pub(crate) mod relocate;
pub(crate) mod seed;
