//! Convolution.
