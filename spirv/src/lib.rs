//! The kernels: GLSL compiled to SPIR-V, and for each its twin on the host.
//!
//! ```text
//! kernels.toml + kernels/*.comp  --cargo xtask build-shaders-->  compiled/*.spv, manifest.toml,
//!                                                                src/kernels.rs
//! ```
//!
//! Kernels move bit patterns, so one is compiled for each [`ElementWidth`] of element widths, and uses
//! 32-bit accesses only. Kernels that are linked also have variants which use optional types of the hardware
//! ([`NativeTypes`]). [`kernels`] is the table: `kernels::DIAGONAL_SCATTER.variant(ElementWidth::B16)`.
//! [`twins`] holds, for each kernel, its push constants and the same computation on the CPU.
//!
//! Nothing here compiles GLSL; a test keeps the checked-in SPIR-V true to its sources.
#![forbid(unsafe_code)]

pub mod attention;
mod element_width;
pub mod element_wise;
pub mod functions;
#[rustfmt::skip] // Laid out by its generator.
pub mod kernels;
pub mod link;
mod native;
pub mod product;
pub mod reduce;
pub mod rows;
pub mod scan;
pub mod sort;
pub mod transpose;
pub mod twins;

pub use element_width::{ElementWidth, Kernel};
pub use native::{Float16, NativeTypes};
