//! Resize.
