//! The part of the compiler that needs no GLSL compiler: the manifest of the compiled files.
#![forbid(unsafe_code)]

pub mod manifest;
