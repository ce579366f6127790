//! Pooling.
