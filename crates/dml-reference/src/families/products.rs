//! What the families that add up products have in common: those of matrices, and convolutions.
//!
//! They differ in which elements meet, and in what becomes of the sums: the names of their fields tell that.

mod cases;
mod fields;
mod meaning;
mod reference;
#[cfg(test)]
mod tests;

pub(crate) use cases::Shapes;
pub(crate) use reference::OfProducts;
