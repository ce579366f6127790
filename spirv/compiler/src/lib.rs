//! What of the compiler needs no GLSL compiler: the manifest of what it has compiled.
#![forbid(unsafe_code)]

pub mod manifest;
