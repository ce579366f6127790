//! Quantization.
