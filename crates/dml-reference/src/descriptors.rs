//! Descriptors that tests of lowering start from.

pub use crate::families::diagonal::cases::{band, diagonal};
pub use crate::families::fill::cases::desc as filled;
