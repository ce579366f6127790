//! Descriptors that tests of lowering make more of.

pub use crate::families::diagonal::cases::{band, diagonal};
pub use crate::families::fill::cases::desc as filled;
