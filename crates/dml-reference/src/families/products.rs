//! Sums of products, as used by the families of matrix products and convolutions.
//!
//! Operators differ in which elements are multiplied, and in how sums are processed: the names of their fields
//! tell.

mod cases;
mod fields;
mod meaning;
mod reference;
#[cfg(test)]
mod tests;

pub(crate) use cases::Shapes;
pub(crate) use reference::OfProducts;
