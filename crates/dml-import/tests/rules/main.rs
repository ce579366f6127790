//! Rules of ONNX's operators that public bug reports concerned: one file for each group of operators.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../common/mod.rs"]
mod common;

mod attention;
mod convolution;
mod fraction;
mod indices;
mod normalization;
mod pooling;
mod products;
mod quantization;
mod recurrent;
mod reductions;
mod resize;
mod sparse;
mod unpooling;
mod versions;
