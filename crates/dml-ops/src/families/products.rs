//! Code that the families of products share: [`super::matmul`] and [`super::convolution`], and inside of
//! others attention and recurrent networks.
//!
//! They differ in which elements meet, and in what becomes of the sums: the names of their fields tell that.

mod factor;
mod lowering;
mod result;
#[cfg(test)]
mod tests;

pub(crate) use factor::{ProductRecorder, Storage, Words, transposed};
pub(crate) use lowering::{Geometry, lower};
