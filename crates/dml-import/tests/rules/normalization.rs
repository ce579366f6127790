//! Normalization.
