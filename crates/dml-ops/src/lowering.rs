//! What the families' lowerings have in common.

pub(crate) mod conversion;
pub(crate) mod made;
pub(crate) mod rows;
pub(crate) mod scale;
