//! The operators in `crates/dml-core/schema/*.toml` to checked-in Rust.
//!
//! [`source`] is the files as they are written, [`model`] what they mean; everything that can be
//! wrong with them is found on the way from one to the other ([`resolve`], [`support`], [`comparison`]).

mod c_header;
mod comparison;
mod descs;
mod enums;
mod files;
mod likeness;
mod model;
mod module;
mod names;
mod resolve;
mod source;
mod support;
mod tables;
#[cfg(test)]
mod tests;

pub(crate) use files::Folders;
