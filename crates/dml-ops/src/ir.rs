//! What operators compute.

pub(crate) mod space;
