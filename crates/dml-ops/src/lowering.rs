//! Parts that the families' lowerings share.

pub(crate) mod conversion;
pub(crate) mod map_builder;
pub(crate) mod operands;
pub(crate) mod rows;
pub(crate) mod scale;
pub(crate) mod tables;
