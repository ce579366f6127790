//! Recurrent.
