//! Code that the families of products share: [`super::matmul`] and [`super::convolution`], and the products
//! inside of attention and recurrent networks.
//!
//! The families differ in the elements that are multiplied, and in the epilogue of the sums, which follows from the
//! names of the operators' fields.

mod bytes;
mod factor;
mod lowering;
mod result;
#[cfg(test)]
mod tests;

pub(crate) use bytes::{BYTES, ByteStorage};
pub(crate) use factor::{ProductRecorder, Storage, Words, transposed};
pub(crate) use lowering::{Geometry, lower};
