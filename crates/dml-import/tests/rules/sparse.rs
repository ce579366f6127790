//! Sparse.
